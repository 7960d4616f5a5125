"""Run a real Slurm on virtual nodes: a private cluster that executes a workload in real time."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
