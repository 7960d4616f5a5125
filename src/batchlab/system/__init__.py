"""Machines: what they have (`System`, `NodeGroup`), where jobs wait, their accounts, and their files."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
