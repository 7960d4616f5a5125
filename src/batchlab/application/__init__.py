"""Applications: programs of jobs, whose run times follow from the platform.

This package only describes them; the kernel simulates tasks. It needs neither polars nor matplotlib.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
