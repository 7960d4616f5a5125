"""Plot of the free nodes by the number of free neighbours, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.font_manager import FontProperties

from batchlab.plot.canvas import INK, begin, say
from batchlab.plot.clock import clock_of
from batchlab.plot.free_runs import free_runs
from batchlab.plot.job_classes import size_colours
from batchlab.plot.over_time import Steps
from batchlab.plot.over_time import means as means_over
from batchlab.plot.results import Results, single
from batchlab.plot.stacked import stacked, windows

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["free_slots"]

_FACTOR = 4


def free_slots(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the number of free nodes over time, by the size of the slot of each.

    A slot is a run of free nodes with neighbouring numbers. A job that needs many neighbouring nodes can
    start only in a wide slot. The total is that of `free_nodes`.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Means over at most 120 windows of a round length; the widest slots are at the bottom.

    Raises
    ------
    ResultError
        If there are several groups.
    """
    result = single(results)
    ax = begin(ax, title=title)
    times, widths, held = _by_width(result)
    if not len(times):
        return say(ax, "nothing happened")
    edges = windows(float(times[0]), float(times[-1]))
    courses = {
        label: means_over(Steps(times, nodes), edges)
        for label, nodes in zip(widths, held, strict=True)
        if nodes.any()
    }
    if not courses:
        return say(ax, "no node was ever free")
    colours = dict(zip(courses, size_colours(len(courses))[::-1], strict=True))
    stacked(ax, courses, edges, "free nodes", colours=colours, clock=clock_of([result]))
    if (named := ax.get_legend()) is not None:
        named.set_title("nodes of a slot", prop=FontProperties(size="small"))
        named.get_title().set_color(INK)
    return ax


def _by_width(result: Result) -> tuple[Floats, list[str], Floats]:
    """Return instants, names of classes of slots, the widest first, and free nodes: (classes, instants)."""
    tops = [1]
    while tops[-1] < result.system.nodes:
        tops.append(tops[-1] * _FACTOR)
    times, runs = free_runs(result)
    held = np.zeros((len(tops), len(times)))
    for part, at, length in runs:
        count = part.stop - part.start
        cell = np.searchsorted(tops, length) * count + at
        held[:, part] = np.bincount(cell, length, len(tops) * count).reshape(len(tops), count)
    lows = [1, *(top + 1 for top in tops)]
    highs = [min(top, result.system.nodes) for top in tops]
    names = [
        f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in zip(lows, highs, strict=False)
    ]
    return times, names[::-1], held[::-1]
