"""Workloads: jobs to be scheduled, from logs, tables, records and generators."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
