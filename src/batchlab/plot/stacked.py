"""Stacked numbers of intervals of each kind over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from batchlab.plot.canvas import colour, dress, legend
from batchlab.plot.clock import time_axis
from batchlab.plot.scales import nice_step, short_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes

    from batchlab.workload.calendar_time import CalendarTime

    Floats = npt.NDArray[np.float64]
    Colour = str | tuple[float, float, float]

__all__ = ["means", "stacked", "windows"]

_MOST_WINDOWS = 120


def stacked(
    ax: Axes,
    courses: Mapping[str, Floats],
    edges: Floats,
    label: str,
    *,
    colours: Mapping[str, Colour] | None = None,
    clock: CalendarTime | None = None,
) -> Axes:
    """Draw the means over windows of each kind, stacked in their order from the bottom.

    Parameters
    ----------
    ax
        The axes.
    courses
        By kind: float64, shape (windows,).
    edges
        float64, shape (windows + 1,): the edges of the windows, in seconds.
    label
        The label of the numbers.
    colours
        The colours by kind [default: in the order of the palette].
    clock
        The calendar, if ticks are to be dates.
    """
    below = np.zeros(len(edges) - 1)
    for index, (name, course) in enumerate(courses.items()):
        above = below + course
        chosen = colours[name] if colours else colour(index)
        ax.stairs(above, edges, baseline=below, fill=True, color=chosen, label=name)
        below = above
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    ax.set_ylabel(label)
    ax.set_xlim(edges[0], edges[-1])
    shown = time_axis(ax, clock)
    ax.set_xlabel(f"{shown} (means over {short_duration(float(np.median(np.diff(edges))))})")
    dress(ax, grid="y")
    # In the order in which they are stacked.
    legend(ax, len(courses), reverse=True)
    return ax


def windows(first: float, last: float) -> Floats:
    """Divide a time span into at most 120 windows of a round length; the last may be shorter."""
    if last <= first:
        return np.array([first, first + 1.0])
    width = nice_step(last - first, _MOST_WINDOWS)
    edges: Floats = np.arange(first, last, width)
    return (
        np.append(edges, last)
        if last - edges[-1] > width / 10 or len(edges) == 1
        else np.append(edges[:-1], last)
    )


def means(part: pl.DataFrame, edges: Floats, amount: str | None = None) -> Floats:
    """Compute the mean number of intervals (``start_time``, ``end_time``) that hold, over each window.

    If `amount`, the name of a column, is given, compute the mean of the sum of their amounts.
    """
    weights = np.ones(part.height) if amount is None else part[amount].to_numpy().astype(np.float64)
    begun, over = (_integral(part[name].to_numpy(), weights, edges) for name in ("start_time", "end_time"))
    found: Floats = np.diff(begun - over) / np.diff(edges)
    return np.maximum(found, 0.0)


def _integral(steps: Floats, weights: Floats, at: Floats) -> Floats:
    """Integrate the sum of the steps so far, up to each time."""
    order = np.argsort(steps, kind="stable")
    since, weights = (steps - at[0])[order], weights[order]
    heights = np.concatenate([[0.0], np.cumsum(weights)])
    areas = np.concatenate([[0.0], np.cumsum(weights * since)])
    count = np.searchsorted(since, at - at[0], side="right")
    integral: Floats = heights[count] * (at - at[0]) - areas[count]
    return integral
