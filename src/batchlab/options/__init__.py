"""Options of a run. Needs neither NumPy nor polars, so that commands can check options before imports."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
