"""Plot of the reasons for which jobs wait, over time."""

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
    """Draw the number of jobs that wait for each reason, stacked, over time.

    Parameters
    ----------
    result
        The result of ``simulate(…, reasons=True)``.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Means over at most 120 windows of a round length; the area of a reason is the total time
        that jobs waited for it. The reason with the longest waits is at the bottom.

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
