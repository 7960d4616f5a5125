"""Machines: nodes and their groups, partitions and queues, accounts, and their files."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
