"""Batsim's workloads: jobs, and the profiles that say what they do."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
