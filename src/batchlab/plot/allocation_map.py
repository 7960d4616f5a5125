"""Which jobs are on which nodes, at one instant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator

from batchlab.errors import ResultError
from batchlab.plot.canvas import GRID, INK, begin, choice, dress, say, tint
from batchlab.plot.gantt import job_colours
from batchlab.plot.placement import Placements, placements
from batchlab.plot.results import Results, single, steps_of
from batchlab.plot.scales import short_duration

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["allocation_map"]

_MOST_VECTORS = 2000
_MOST_OUTLINED = 300


def allocation_map(
    results: Results,
    *,
    ax: Axes | None = None,
    time: float | None = None,
    resource: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw what every node's jobs hold of a resource at one instant, each job in a colour of its own.

    Every node is a column as high as its capacity; what is free is grey. Colours are those of `gantt`.

    Parameters
    ----------
    results
        One result; of replications the first is drawn.
    ax
        The axes to draw on; new ones unless given.
    time
        The instant, seconds; the first at which most of the resource is in use unless given.
    resource
        The one to show; the system's first unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If there are several groups, no such resource, or the time is no number.
    """
    result = single(results)
    system = result.system
    name = system.resources[0] if resource is None else choice("resource", resource, system.resources)
    instant = _busiest(result, name) if time is None else time
    if not math.isfinite(instant):
        raise ResultError(f"time = {time!r} s; must be a number.")
    ax = begin(ax, title=title, size=(7.2, 3.2))
    capacity = system.capacity[:, system.resources.index(name)].astype(np.float64)
    if not capacity.any():
        return say(ax, f"no node has any {name}")
    _columns(ax, capacity)
    _jobs(ax, placements(result, name), capacity, instant)
    ax.set(xlim=(0, system.nodes), ylim=(0, capacity.max() * 1.02))
    ax.set_xlabel(f"node, at {short_duration(instant)}")
    ax.set_ylabel(name)
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ticks = [tick for tick in MaxNLocator(10, integer=True).tick_values(0, system.nodes - 1) if tick >= 0]
    ticks = [tick for tick in ticks if tick < system.nodes]
    ax.set_xticks([tick + 0.5 for tick in ticks], [f"{tick:.0f}" for tick in ticks])
    return dress(ax, grid=None)


def _busiest(result: Result, resource: str) -> float:
    used = steps_of(result, {resource: pl.col(f"allocated_{resource}")})
    busiest = used[f"used_{resource}"].arg_max()
    return 0.0 if busiest is None else float(used["time"][busiest])


def _columns(ax: Axes, capacity: Floats) -> None:
    edges = np.arange(len(capacity) + 1)
    ax.stairs(capacity, edges, fill=True, color=tint(GRID, 0.5), rasterized=len(capacity) > _MOST_VECTORS)
    ax.stairs(capacity, edges, color=INK, linewidth=0.6)


def _jobs(ax: Axes, placed: Placements, capacity: Floats, instant: float) -> None:
    there = np.flatnonzero((placed.start <= instant) & (placed.end > instant) & (placed.share > 0))
    # In the order of rows, so that a job on several nodes is at one height where it can be.
    order = there[np.lexsort((placed.row[there], placed.node[there]))]
    node, height = placed.node[order], placed.share[order] * capacity[placed.node[order]]
    top = np.cumsum(height)
    first_of_node = np.concatenate([[True], node[1:] != node[:-1]]) if len(node) else np.zeros(0, np.bool_)
    below = np.maximum.accumulate(np.where(first_of_node, top - height, 0.0))
    high, low = top - below, top - below - height
    corners = np.stack(
        [
            np.stack([node, node + 1, node + 1, node], axis=1),
            np.stack([low, low, high, high], axis=1),
        ],
        axis=2,
    )
    outlined = len(capacity) <= _MOST_OUTLINED
    ax.add_collection(
        PolyCollection(
            list(corners),
            facecolors=job_colours(placed.row[order]),
            edgecolors="white" if outlined else "face",
            linewidths=0.4 if outlined else 0.1,
            rasterized=len(order) > _MOST_VECTORS,
        )
    )
