# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.slurm.twin.fit_answer import Assessment as Assessment
from batchlab.slurm.twin.fit_answer import Fit as Fit
from batchlab.slurm.twin.fitting import assessed as assessed
from batchlab.slurm.twin.fitting import fit as fit
from batchlab.slurm.twin.parameters import PARAMETERS as PARAMETERS
from batchlab.slurm.twin.parameters import Fitted as Fitted
from batchlab.slurm.twin.parameters import Parameter as Parameter
from batchlab.slurm.twin.parameters import changed as changed
from batchlab.slurm.twin.parameters import parameter as parameter
from batchlab.slurm.twin.parameters import read_fitted as read_fitted
from batchlab.slurm.twin.parameters import usual as usual
from batchlab.slurm.twin.parameters import write_fitted as write_fitted
from batchlab.slurm.twin.study import WhatIf as WhatIf
from batchlab.slurm.twin.study import what_if as what_if
from batchlab.slurm.twin.twin import Twin as Twin
from batchlab.slurm.twin.twin import read_twin as read_twin
