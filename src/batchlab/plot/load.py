"""How much is asked of the machine, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import PercentFormatter

from batchlab.plot.canvas import INK, begin
from batchlab.plot.over_time import Line, Steps, over_time
from batchlab.plot.results import Results, groups, jobs_of, steps_of
from batchlab.plot.utilisation import resources_of
from batchlab.result.timeline import demands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["load"]


def load(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw what running and waiting jobs ask for together, as a share of the capacity, over time.

    Above 100 % (the line), jobs must wait; the area between load and utilisation is what waits.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, of which the mean is taken.
    ax
        The axes to draw on; new ones unless given.
    resource
        The one to show; the system's first unless given.
    window
        Seconds over which means are taken; 0 for none, chosen unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If no system has the resource, or the window is no duration.
    """
    found = groups(results)
    name = resources_of(found, resource)[0]
    lines = [
        Line(group.label, tuple(_course(result, name) for result in group.schedules), index)
        for index, group in enumerate(found)
    ]
    label = f"{name} asked for, of capacity"
    ax = over_time(begin(ax, title=title), lines, label, window=window)
    if ax.lines:
        ax.axhline(1.0, color=INK, linewidth=0.8, zorder=1.5)
        ax.set_ylim(0, max(1.05, ax.get_ylim()[1]))
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0, symbol=" %"))
    return ax


def _course(result: Result, resource: str) -> Steps:
    jobs, capacity = jobs_of(result), result.system.total.get(resource, 0)
    if not capacity:
        return Steps(np.zeros(0), np.zeros(0))
    table = steps_of(result, {resource: demands(jobs, result.system)[resource]})
    asked = (table[f"used_{resource}"] + table[f"waiting_{resource}"]).to_numpy()
    return Steps(table["time"].to_numpy(), asked / capacity)
