"""Observers: data beside jobs and nodes, kept, offered to policies, and acted upon."""

from batchlab.observer.observer import Observer

__all__ = ["Observer"]
