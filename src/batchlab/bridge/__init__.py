"""Bridges to other simulators' projects and protocols, one folder each.

`batchlab.bridge.slurm` is another name of `batchlab.slurm.virtual`.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
