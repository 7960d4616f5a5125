"""What-if studies of a cluster that runs Slurm, and calibration of its twin on a log.

See ``docs/slurm-twin.md``.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
