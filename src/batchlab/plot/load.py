"""Plot of the load of the machine over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from batchlab.plot.canvas import begin
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Results, clock_of_groups, groups, jobs_of, steps_of
from batchlab.plot.utilisation import resources_of
from batchlab.plot.values import Values, percent
from batchlab.result.timeline import demands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["load", "load_course", "load_values"]

_MOST_LINEAR = 4.0


def load(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the requests of running and waiting jobs together, as a share of the capacity, over time.

    Above 100 % (the line), jobs must wait; the area between load and utilisation are the waiting jobs. If
    more than four times the capacity is requested, the axis is logarithmic, from 10 %. More than two courses
    have a row each, with the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    ax
        The axes [default: new axes].
    resource
        The resource [default: the system's first].
    window
        Seconds over which means are taken; 0 for none [default: chosen by the number of steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If no system has the resource, or the window is not a duration.
    """
    found = groups(results)
    name = resources_of(found, resource)[0]
    lines = [
        Line(group.label, tuple(load_course(result, name) for result in group.schedules), index)
        for index, group in enumerate(found)
    ]
    values = load_values(name, lines)
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")


def load_values(resource: str, lines: Sequence[Line]) -> Values:
    """Return the axis of loads: logarithmic if much more than the capacity is requested."""
    every = [each.value for line in lines for each in line.replications]
    greatest = max((float(values.max(initial=0)) for values in every), default=0.0)
    scale: Literal["log", "linear"] = "log" if greatest > _MOST_LINEAR else "linear"
    return Values(f"{resource} asked for, of capacity", scale, percent, mark=1.0)


def load_course(result: Result, resource: str) -> Steps:
    """Return the requests of running and waiting jobs from each instant on, as a share of the capacity."""
    jobs, capacity = jobs_of(result), result.system.total.get(resource, 0)
    if not capacity:
        return Steps(np.zeros(0), np.zeros(0))
    table = steps_of(result, {resource: demands(jobs, result.system)[resource]})
    asked = (table[f"used_{resource}"] + table[f"waiting_{resource}"]).to_numpy()
    return Steps(table["time"].to_numpy(), asked / capacity)
