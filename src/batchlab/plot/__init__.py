"""Plots, one function each: results in, `matplotlib.axes.Axes` in and out, nothing global."""

from batchlab.plot.gantt import gantt
from batchlab.plot.load import load
from batchlab.plot.queue_size import queue_size
from batchlab.plot.slowdown import slowdown
from batchlab.plot.utilisation import utilisation
from batchlab.plot.wait import wait

__all__ = [
    "gantt",
    "load",
    "queue_size",
    "slowdown",
    "utilisation",
    "wait",
]
