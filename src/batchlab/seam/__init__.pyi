# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.seam.components import Allocator as Allocator
from batchlab.seam.components import ExternalScheduler as ExternalScheduler
from batchlab.seam.components import Observer as Observer
from batchlab.seam.components import Predictor as Predictor
from batchlab.seam.components import Scheduler as Scheduler
from batchlab.seam.invocation import Cause as Cause
from batchlab.seam.invocation import Invocation as Invocation
from batchlab.seam.view import Columns as Columns
from batchlab.seam.view import LookAhead as LookAhead
from batchlab.seam.view import Values as Values
from batchlab.seam.view import View as View
