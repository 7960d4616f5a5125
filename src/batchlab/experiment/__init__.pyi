# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.experiment.experiment import Experiment as Experiment
from batchlab.experiment.experiment import dispatchers as dispatchers
from batchlab.experiment.plan import Course as Course
from batchlab.experiment.plan import Underway as Underway
from batchlab.experiment.runs import Runs as Runs
from batchlab.experiment.source import LogFile as LogFile
