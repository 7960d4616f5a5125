"""Workloads: jobs to be scheduled, from logs, tables, records and generators."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
