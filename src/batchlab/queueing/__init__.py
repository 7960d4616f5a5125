"""Queueing theory of batch systems: delays, closed forms, stability, arrival processes, ensembles.

See ``docs/queueing.md``.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
