"""How many intervals of each kind there are over time, one kind on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from batchlab.plot.canvas import colour, dress, legend
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes

    Floats = npt.NDArray[np.float64]
    Colour = str | tuple[float, float, float]

__all__ = ["WINDOWS", "means", "stacked"]

WINDOWS = 300


def stacked(
    ax: Axes,
    courses: Mapping[str, Floats],
    edges: Floats,
    label: str,
    *,
    colours: Mapping[str, Colour] | None = None,
) -> Axes:
    """Draw the means over windows of each kind, in their order from the bottom.

    Parameters
    ----------
    ax
        The axes.
    courses
        By kind: float64, shape (windows,).
    edges
        float64, shape (windows + 1,): where windows meet, in seconds.
    label
        Of the numbers.
    colours
        By kind; in their order unless given.
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
    ax.set_xlabel("time")
    duration_axis(ax, "x")
    dress(ax, grid="y")
    legend(ax, len(courses))
    return ax


def means(part: pl.DataFrame, edges: Floats) -> Floats:
    """Give the mean number of intervals (``start_time``, ``end_time``) that hold, over each window."""
    begun, over = (_integral(part[name].to_numpy(), edges) for name in ("start_time", "end_time"))
    found: Floats = np.diff(begun - over) / np.diff(edges)
    return np.maximum(found, 0.0)


def _integral(steps: Floats, at: Floats) -> Floats:
    """Integrate the number of steps so far, up to each time."""
    steps = np.sort(steps) - at[0]
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    count = np.searchsorted(steps, at - at[0], side="right")
    integral: Floats = count * (at - at[0]) - sums[count]
    return integral
