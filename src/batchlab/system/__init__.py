"""Machines: what they have (`System`, `NodeGroup`), their accounts, and the files that describe them."""

from batchlab.system.accounts import Account, FairShare, QualityOfService
from batchlab.system.read import read_system, write_system
from batchlab.system.system import NodeGroup, System

__all__ = [
    "Account",
    "FairShare",
    "NodeGroup",
    "QualityOfService",
    "System",
    "read_system",
    "write_system",
]
