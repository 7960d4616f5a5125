# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.options.overheads import Delay as Delay
from batchlab.options.overheads import Overheads as Overheads
from batchlab.options.run_options import ExperimentArguments as ExperimentArguments
from batchlab.options.run_options import RunArguments as RunArguments
from batchlab.options.run_options import RunOptions as RunOptions
from batchlab.options.sensing import Sensing as Sensing
from batchlab.options.sleep import NodeSleep as NodeSleep
