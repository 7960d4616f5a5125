# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.twin.twin import Twin as Twin
from batchlab.twin.twin import read_twin as read_twin
from batchlab.twin.what_if_answer import WhatIf as WhatIf
from batchlab.twin.what_if_study import what_if as what_if
