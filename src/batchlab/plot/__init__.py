"""Plots, one function each: results in, `matplotlib.axes.Axes` in and out, nothing global."""

from batchlab.core.lazy import gather

__all__, _plots, __dir__ = gather(__name__)
globals().update(_plots)
