# The plots: the names in `__all__` of these modules, for checkers and for `gather`, which imports them.

from batchlab.plot.adequacy import *
from batchlab.plot.allocation_map import *
from batchlab.plot.allocations import *
from batchlab.plot.costs import *
from batchlab.plot.energy import *
from batchlab.plot.fair_share import *
from batchlab.plot.fit import *
from batchlab.plot.free import *
from batchlab.plot.gantt import *
from batchlab.plot.job_measures import *
from batchlab.plot.job_nodes import *
from batchlab.plot.job_times import *
from batchlab.plot.network import *
from batchlab.plot.platform_activity import *
from batchlab.plot.queue import *
from batchlab.plot.scalability import *
from batchlab.plot.what_if import *
from batchlab.plot.workloads import *

__all__: list[str]
