# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.queueing.delays import delays as delays
from batchlab.queueing.mg1 import MG1 as MG1
from batchlab.queueing.mg1 import mg1 as mg1
from batchlab.queueing.mmc import MMC as MMC
from batchlab.queueing.mmc import erlang_b as erlang_b
from batchlab.queueing.mmc import erlang_c as erlang_c
from batchlab.queueing.mmc import mmc as mmc
from batchlab.queueing.two_servers import TwoServers as TwoServers
from batchlab.queueing.two_servers import max_throughput as max_throughput
from batchlab.queueing.two_servers import simultaneous_two_servers as simultaneous_two_servers
from batchlab.queueing.two_speeds import TwoSpeedMM1 as TwoSpeedMM1
from batchlab.queueing.two_speeds import two_speed_mm1 as two_speed_mm1
