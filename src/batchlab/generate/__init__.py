"""Workload models: jobs made up by published or plausible rules, the same for the same seed."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
