"""Plot of the fragmentation of the free nodes over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin
from batchlab.plot.free_runs import free_runs
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Results, clock_of_groups, groups
from batchlab.plot.values import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["fragmentation"]


def fragmentation(
    results: Results,
    *,
    ax: Axes | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the fragmentation of the free nodes over time: 1 − Σ f² / (Σ f)², as in [1].

    Here f are the lengths of the runs of free nodes with neighbouring numbers; a node is free if it has no
    job. The measure is 0 if all free nodes are neighbours, or none is free, and approaches 1 if each is
    isolated.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    ax
        The axes [default: new axes].
    window
        Seconds over which means are taken; 0 for none [default: chosen by the number of steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. More than two results have a row each, with the first in grey for comparison.

    Raises
    ------
    ResultError
        If there is no result, or the window is not a duration.

    References
    ----------
    [1] J. Gehr and J. Schneider, "Measuring fragmentation of two-dimensional resources applied to advance
    reservation grid scheduling", CCGrid 2009. There, f are the lengths of free times.
    """
    found = groups(results)
    lines = [
        Line(group.label, tuple(map(_course, group.schedules)), index) for index, group in enumerate(found)
    ]
    ax = begin(ax, title=title, size=size_of(len(lines)))
    values = Values("fragmentation of free nodes", top=1.0)
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")


def _course(result: Result) -> Steps:
    times, runs = free_runs(result)
    scattered = np.zeros(len(times))
    for part, at, length in runs:
        count = part.stop - part.start
        free = np.bincount(at, length, count)
        squares = np.bincount(at, length.astype(np.float64) ** 2, count)
        scattered[part] = np.where(free > 0, 1 - squares / np.maximum(free, 1) ** 2, 0.0)
    return Steps(times, scattered)
