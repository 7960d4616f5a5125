"""`batchlab.slurm.twin` under its first name, which programs and ``docs/slurm-twin.md`` use."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
