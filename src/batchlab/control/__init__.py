"""Service-rate control: the rate at which a machine serves jobs (S19). Needs neither NumPy nor polars."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
