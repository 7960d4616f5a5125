"""Systems from the configuration of a cluster that runs Slurm; `batchlab.slurm` reads its files."""

from batchlab.lazy import listing
from batchlab.system.slurm.translation import Translation, check, translate

__all__ = ["Translation", "check", "translate"]

__dir__ = listing(__name__)
