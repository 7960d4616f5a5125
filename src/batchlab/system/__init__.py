"""Machines: what they have (`System`, `NodeGroup`), where jobs wait, their accounts, and their files."""

from batchlab.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
