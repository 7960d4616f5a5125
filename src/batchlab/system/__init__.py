"""Machines: what they have (`System`, `NodeGroup`), and the files that describe them."""

from batchlab.system.read import read_system, write_system
from batchlab.system.system import NodeGroup, System

__all__ = ["NodeGroup", "System", "read_system", "write_system"]
