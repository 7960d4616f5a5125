"""Batsim's workloads: jobs and profiles."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
