"""Machines: what they have (`System`, `NodeGroup`), where jobs wait, their accounts, and their files."""

from batchlab.lazy import listing
from batchlab.system import machines
from batchlab.system.accounts import Account, FairShare, QualityOfService
from batchlab.system.limits import Limit
from batchlab.system.preemption import Preemption
from batchlab.system.queues import Conditions, JobQueue, Partition
from batchlab.system.read import read_system, write_system
from batchlab.system.reservations import Reservation
from batchlab.system.sleep_states import SleepState
from batchlab.system.system import NodeGroup, System

__all__ = [
    "Account",
    "Conditions",
    "FairShare",
    "JobQueue",
    "Limit",
    "NodeGroup",
    "Partition",
    "Preemption",
    "QualityOfService",
    "Reservation",
    "SleepState",
    "System",
    "machines",
    "read_system",
    "write_system",
]

__dir__ = listing(__name__)
