"""The keys of Slurm's files, as data: what each does, since when, and what becomes of it here."""

from batchlab.lazy import listing
from batchlab.slurm.keys.table import Change, Key, KeyTable, Status, changes, key_table, tables

__all__ = ["Change", "Key", "KeyTable", "Status", "changes", "key_table", "tables"]

__dir__ = listing(__name__)
