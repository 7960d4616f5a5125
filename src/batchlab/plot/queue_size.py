"""Plot of the number of waiting jobs, at decisions or over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from batchlab.plot.canvas import begin, choice, rows_size
from batchlab.plot.distribution import KINDS, Kind, Quantity, Sample, distribution
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Results, clock_of_groups, groups, steps_of
from batchlab.plot.values import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["queue_course", "queue_size"]


def queue_size(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind | Literal["time"] = "box",
    log: bool = True,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the number of waiting jobs: its distribution over dispatch instants (Fig. 11 of [1]), or a course.

    At a dispatch instant a job is submitted or ends; the queue has the jobs that the scheduler finds then,
    including those submitted at that instant, before it starts any.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications.
    ax
        The axes [default: new axes].
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"``, ``"cdf"``, or
        ``"time"`` for the number after each instant, over time.
    log
        True for a scale that is logarithmic above 1, and begins at 0.
    window
        Over time: seconds over which means are taken; 0 for none [default: chosen by the number of steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If an argument is invalid.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("kind", kind, (*KINDS, "time"))
    found = groups(results)
    if kind == "time":
        ax = begin(ax, title=title, size=size_of(len(found)))
        lines = [
            Line(each.label, tuple(map(queue_course, each.schedules)), index)
            for index, each in enumerate(found)
        ]
        values = Values("jobs in the queue", "log1p" if log else "linear")
        return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")
    ax = begin(ax, title=title, size=rows_size(len(found)))
    samples = [Sample(each.label, np.concatenate([*map(_at_dispatch, each.schedules)])) for each in found]
    scale: Literal["log1p", "linear"] = "log1p" if log else "linear"
    quantity = Quantity("jobs in the queue", scale, of="instants", nothing="nothing was submitted")
    return distribution(ax, samples, quantity, kind)


def queue_course(result: Result) -> Steps:
    """Return the number of waiting jobs from each instant on."""
    table = steps_of(result)
    return Steps(table["time"].to_numpy(), table["queued"].to_numpy().astype(np.float64))


def _at_dispatch(result: Result) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    course, started = queue_course(result), np.sort(result.outcome.start_time)
    until = np.searchsorted(started, course.time, side="right")
    return course.value + until - np.searchsorted(started, course.time, side="left")
