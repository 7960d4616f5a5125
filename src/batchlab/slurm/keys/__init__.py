"""The keys of Slurm's files as data: meaning, releases, and treatment in batchlab."""

from batchlab.lazy import listing
from batchlab.slurm.keys.table import Change, Key, KeyTable, Status, changes, key_table, tables

__all__ = ["Change", "Key", "KeyTable", "Status", "changes", "key_table", "tables"]

__dir__ = listing(__name__)
