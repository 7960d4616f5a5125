"""A real Slurm on virtual nodes: a private cluster, fed with a workload in real time."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
