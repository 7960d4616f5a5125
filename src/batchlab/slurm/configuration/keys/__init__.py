"""The keys of Slurm's files as data: meaning, releases, and treatment in batchlab."""

from batchlab.core.lazy import make_dir
from batchlab.slurm.configuration.keys.table import Change, Key, KeyTable, Status, changes, key_table, tables

__all__ = ["Change", "Key", "KeyTable", "Status", "changes", "key_table", "tables"]

__dir__ = make_dir(__name__)
