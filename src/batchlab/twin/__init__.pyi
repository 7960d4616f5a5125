# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.twin.assessment import Assessment as Assessment
from batchlab.twin.fit_answer import Fit as Fit
from batchlab.twin.fitted import Fitted as Fitted
from batchlab.twin.fitted import read_fitted as read_fitted
from batchlab.twin.fitted import write_fitted as write_fitted
from batchlab.twin.fitting import assessed as assessed
from batchlab.twin.fitting import fit as fit
from batchlab.twin.parameters import PARAMETERS as PARAMETERS
from batchlab.twin.parameters import Parameter as Parameter
from batchlab.twin.parameters import changed as changed
from batchlab.twin.parameters import parameter as parameter
from batchlab.twin.parameters import usual as usual
from batchlab.twin.twin import Twin as Twin
from batchlab.twin.twin import read_twin as read_twin
from batchlab.twin.what_if_answer import WhatIf as WhatIf
from batchlab.twin.what_if_study import what_if as what_if
