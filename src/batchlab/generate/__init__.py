"""Synthetic workloads from published or plausible models, reproducible by a seed."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
