"""The options of a run. Needs neither NumPy nor polars, so that the command line can check them first."""

from batchlab.lazy import listing
from batchlab.options.invocation import Cause, Invocation
from batchlab.options.overheads import Delay, Overheads
from batchlab.options.run_options import ExperimentArguments, RunArguments, RunOptions
from batchlab.options.sensing import Sensing
from batchlab.options.sleep import NodeSleep

__all__ = [
    "Cause",
    "Delay",
    "ExperimentArguments",
    "Invocation",
    "NodeSleep",
    "Overheads",
    "RunArguments",
    "RunOptions",
    "Sensing",
]

__dir__ = listing(__name__)
