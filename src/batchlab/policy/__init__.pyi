# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.policy.policy import Policy as Policy
from batchlab.policy.registry import ALLOCATORS as ALLOCATORS
from batchlab.policy.registry import BACKFILLS as BACKFILLS
from batchlab.policy.registry import DISCIPLINES as DISCIPLINES
from batchlab.policy.registry import ORDERS as ORDERS
from batchlab.policy.registry import PREDICTORS as PREDICTORS
from batchlab.policy.registry import SCHEDULERS as SCHEDULERS
from batchlab.policy.registry import SIZE_ORDERS as SIZE_ORDERS
from batchlab.policy.registry import Rule as Rule
from batchlab.policy.schedulers import AccasimEasy as AccasimEasy
from batchlab.policy.schedulers import Malleable as Malleable
from batchlab.policy.slurm import SlurmParameters as SlurmParameters
