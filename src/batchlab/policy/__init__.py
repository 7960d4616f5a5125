"""Policies: which job runs next, and on which nodes."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
