"""batchlab: the laboratory for HPC batch scheduling.

>>> import batchlab as bl
>>> workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [60.0], "tasks": [2]})
>>> result = bl.simulate(workload, bl.System.homogeneous(nodes=2, resources={"core": 1}), "easy")
>>> result.jobs["end_time"].item()
60.0
"""

from batchlab._kernel import __version__
from batchlab.core.lazy import attach
from batchlab.core.process_fork import watch_forks

watch_forks()

__all__, __getattr__, __dir__ = attach(__name__)
__all__ += ["__version__"]
