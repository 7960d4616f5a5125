"""Why jobs wait, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.plot.canvas import begin, colour, dress, legend, say
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["waiting_reasons"]

_WINDOWS = 300


def waiting_reasons(result: Result, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw how many jobs wait for which reason, one on the other, over time.

    Parameters
    ----------
    result
        The result of ``simulate(…, reasons=True)``.
    ax
        The axes to draw on; new ones unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on. Means over 300 windows of equal length; the area of a reason is the time that jobs
        waited for it, in all. The reason for which they waited longest is at the bottom.

    Raises
    ------
    ResultError
        If the reasons were not recorded.
    """
    ax = begin(ax, title=title)
    reasons = result.reasons.with_columns(pl.col("end_time").fill_null(result.outcome.now))
    reasons = reasons.filter(pl.col("end_time") > pl.col("start_time"))
    if reasons.is_empty():
        return say(ax, "no job waited")
    submitted = result.workload.jobs["submit_time"].to_numpy()
    last = max(float(result.outcome.now), float(reasons["end_time"].to_numpy().max()))
    edges = np.linspace(float(submitted.min()), last, _WINDOWS + 1)
    courses = {str(name): _means(part, edges) for (name,), part in reasons.group_by("reason")}
    names = sorted(courses, key=lambda name: (-courses[name].sum(), name))
    below = np.zeros(_WINDOWS)
    for index, name in enumerate(names):
        above = below + courses[name]
        ax.stairs(above, edges, baseline=below, fill=True, color=colour(index), label=name)
        below = above
    ax.set_ylim(bottom=0)
    ax.set_ylabel("waiting jobs")
    ax.set_xlabel("time")
    duration_axis(ax, "x")
    dress(ax, grid="y")
    legend(ax, len(names))
    return ax


def _means(part: pl.DataFrame, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give the mean number of intervals that hold, over each window."""
    begun, over = (_integral(part[name].to_numpy(), edges) for name in ("start_time", "end_time"))
    means: npt.NDArray[np.float64] = np.diff(begun - over) / np.diff(edges)
    return np.maximum(means, 0.0)


def _integral(steps: npt.NDArray[np.float64], at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Integrate the number of steps so far, up to each time."""
    steps = np.sort(steps) - at[0]
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    count = np.searchsorted(steps, at - at[0], side="right")
    integral: npt.NDArray[np.float64] = count * (at - at[0]) - sums[count]
    return integral
