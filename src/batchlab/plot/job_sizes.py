"""Plot of the numbers of tasks of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin
from batchlab.plot.histogram import classes
from batchlab.plot.results import Workloads, job_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["job_sizes"]


def job_sizes(workloads: Workloads, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the shares of jobs by their numbers of tasks, in classes up to each power of two.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If there is no workload, or something else is among them.
    """
    found = job_tables(workloads)
    tasks = {
        each.label: np.concatenate([table["tasks"].to_numpy() for table in each.tables]) for each in found
    }
    widest = max((int(each.max()) for each in tasks.values() if len(each)), default=1)
    powers = max(widest - 1, 0).bit_length() + 1
    edges = np.array([0, *(2**power for power in range(powers))]) + 0.5
    counts = {label: np.histogram(each, edges)[0].astype(np.float64) for label, each in tasks.items()}
    ax = classes(begin(ax, title=title), counts, [_class(power) for power in range(powers)])
    if ax.has_data():
        ax.set_xlabel("tasks of a job")
    return ax


def _class(power: int) -> str:
    low, high = 2 ** (power - 1) + 1 if power else 1, 2**power
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
