"""Batsim's workloads: jobs and profiles."""

from batchlab.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
