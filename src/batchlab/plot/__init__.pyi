# The plots: the names in `__all__` of these modules, for checkers and for `gather`, which imports them.

from batchlab.plot.costs import *
from batchlab.plot.energy import *
from batchlab.plot.free import *
from batchlab.plot.job_measures import *
from batchlab.plot.models import *
from batchlab.plot.network import *
from batchlab.plot.occupation import *
from batchlab.plot.queue import *
from batchlab.plot.schedules import *
from batchlab.plot.workloads import *

__all__: list[str]
