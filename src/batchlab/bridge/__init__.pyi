# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.bridge import batsim as batsim
from batchlab.bridge import elastisim as elastisim
from batchlab.bridge import slurm as slurm
