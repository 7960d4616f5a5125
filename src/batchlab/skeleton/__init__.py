"""Skeletons: message-passing applications, reduced to what their ranks compute, send and receive.

A function is run once per rank, and compiled to a flat program for the kernel. The package needs neither
polars nor matplotlib.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
