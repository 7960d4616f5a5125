"""Skeletons: message-passing applications by what their ranks compute, send and receive.

A function is run once for each rank, and compiled to a flat program of the kernel. Needs neither polars nor
matplotlib.
"""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
