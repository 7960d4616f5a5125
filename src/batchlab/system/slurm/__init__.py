"""Build systems from the configuration of a Slurm cluster; `batchlab.slurm` reads the files."""

from batchlab.core.lazy import make_dir
from batchlab.system.slurm.translation import Translation, check, translate

__all__ = ["Translation", "check", "translate"]

__dir__ = make_dir(__name__)
