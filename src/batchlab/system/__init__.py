"""Machines: what they have (`System`, `NodeGroup`), where jobs wait, and the files that describe them."""

from batchlab.system.queues import Conditions, JobQueue, Partition
from batchlab.system.read import read_system, write_system
from batchlab.system.system import NodeGroup, System

__all__ = ["Conditions", "JobQueue", "NodeGroup", "Partition", "System", "read_system", "write_system"]
