"""Batsim's workloads: jobs and profiles."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
