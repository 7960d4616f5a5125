# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.system import machines as machines
from batchlab.system import slurm as slurm
from batchlab.system.accounts import Account as Account
from batchlab.system.accounts import FairShare as FairShare
from batchlab.system.accounts import QualityOfService as QualityOfService
from batchlab.system.nodes import NodeGroup as NodeGroup
from batchlab.system.nodes import SleepState as SleepState
from batchlab.system.queues import Conditions as Conditions
from batchlab.system.queues import JobQueue as JobQueue
from batchlab.system.queues import Limit as Limit
from batchlab.system.queues import Partition as Partition
from batchlab.system.queues import Preemption as Preemption
from batchlab.system.read import read_system as read_system
from batchlab.system.read import write_system as write_system
from batchlab.system.reservations import Reservation as Reservation
from batchlab.system.system import System as System
