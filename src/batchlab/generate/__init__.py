"""Synthetic workloads from published or plausible models, reproducible by a seed."""

from batchlab.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
