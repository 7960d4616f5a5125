# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.bridge.batsim.workload import read_workload as read_workload
