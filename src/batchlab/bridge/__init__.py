"""Bridges to other simulators; `slurm` is another name of `batchlab.slurm.virtual`."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
