"""Why jobs wait, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.plot.canvas import begin, say
from batchlab.plot.clock import clock_of
from batchlab.plot.results import single
from batchlab.plot.stacked import means, stacked, windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.plot.results import Results


__all__ = ["waiting_reasons"]


def waiting_reasons(result: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw how many jobs wait for which reason, one on the other, over time.

    Parameters
    ----------
    result
        That of ``simulate(…, reasons=True)``.
    ax
        The axes to draw on; new ones unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on. Means over at most 120 windows of a round length; the area of a reason is the time
        that jobs waited for it, in all. The reason for which they waited longest is at the bottom.

    Raises
    ------
    ResultError
        If the reasons were not recorded, or there are several groups of results.
    """
    found = single(result)
    ax = begin(ax, title=title)
    reasons = found.reasons.with_columns(pl.col("end_time").fill_null(found.outcome.now))
    reasons = reasons.filter(pl.col("end_time") > pl.col("start_time"))
    if reasons.is_empty():
        return say(ax, "no job waited")
    submitted = found.workload.jobs["submit_time"].to_numpy()
    last = max(float(found.outcome.now), float(reasons["end_time"].to_numpy().max()))
    edges = windows(float(submitted.min()), last)
    courses = {str(name): means(part, edges) for (name,), part in reasons.group_by("reason")}
    names = sorted(courses, key=lambda name: (-courses[name].sum(), name))
    return stacked(
        ax, {name: courses[name] for name in names}, edges, "waiting jobs", clock=clock_of([found])
    )
