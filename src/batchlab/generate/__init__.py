"""Synthetic workloads from published or plausible models, reproducible by a seed."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
