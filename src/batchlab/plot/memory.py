"""Plot of the memory of the simulating process over simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin
from batchlab.plot.over_time import Line, Steps, over_time
from batchlab.plot.results import Results, clock_of_groups, groups
from batchlab.plot.values import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["memory"]

_MEGABYTE = 1e6


def memory(
    results: Results, *, ax: Axes | None = None, window: float | None = None, title: str | None = None
) -> Axes:
    """Draw the resident memory of the process after each scheduling pass, a line per policy.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications, whose mean is drawn.
    ax
        The axes [default: new axes].
    window
        Seconds over which means are taken; 0 draws every step, None chooses by the number of steps.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the passes were not recorded, or the window is not a duration.
    """
    found = groups(results)
    lines = [Line(each.label, tuple(map(_course, each.results)), index) for index, each in enumerate(found)]
    values = Values("resident memory, MB")
    return over_time(begin(ax, title=title), lines, values, window=window, clock=clock_of_groups(found))


def _course(result: Result) -> Steps:
    passes = result.dispatch.drop_nulls("memory").group_by("time", maintain_order=True).last()
    return Steps(passes["time"].to_numpy(), passes["memory"].to_numpy().astype(np.float64) / _MEGABYTE)
