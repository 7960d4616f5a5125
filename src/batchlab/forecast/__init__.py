"""Forecasts of the starts of waiting jobs, and how well they are calibrated.

See ``docs/forecast.md``.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
