"""What nodes hold at one instant: amounts, and the jobs that run there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.ticker import FuncFormatter, MaxNLocator

from batchlab.core.rules import is_finite
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import GRID, INK, annotate, begin, choice, dress, plot, tint
from batchlab.plot.job_classes import job_colours, name_rectangles
from batchlab.plot.placement import Placements, Rectangles, Tiles, box, placements, space, tiles_of
from batchlab.plot.results import Results, single, steps_of
from batchlab.plot.scales import clock_of, instant, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result
    from batchlab.system import System

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]
    Colours: TypeAlias = npt.NDArray[np.float64]

__all__ = ["allocation_map", "job_nodes"]


_MOST_COLUMNS = 64
_MOST_VECTORS = 2000
_MOST_OUTLINED = 300


@plot
def allocation_map(
    results: Results,
    *,
    ax: Axes | None = None,
    time: float | None = None,
    resource: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the amounts that jobs hold on nodes at an instant: of one resource, each job in its own colour.

    Up to 64 nodes are columns, as high as their capacity. More nodes are tiles of a grid, arranged as in
    `job_nodes`: by the topology of the machine if it has one, else by number, row by row. Free parts are
    grey. Each job has its number on the largest part that has room for it.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    time
        The instant, in seconds [default: the first at which most of the resource is in use].
    resource
        The resource [default: the system's first].

    Raises
    ------
    ResultError
        If there are several groups, the resource is unknown, or the time is not a number.
    """
    result = single(results)
    system = result.system
    name = system.resources[0] if resource is None else choice("resource", resource, system.resources)
    time = _busiest(result, name) if time is None else time
    if not is_finite(time):
        raise ResultError(f"time = {shown(time)} s; must be a number.")
    is_grid = system.nodes > _MOST_COLUMNS
    ax = begin(ax, title=title, size=(7.2, 4.4) if is_grid else (7.2, 3.2))
    capacity = system.capacity[:, system.resources.index(name)].astype(np.float64)
    if not capacity.any():
        return annotate(ax, f"no node has any {name}")
    parts = _parts(placements(result, name), time)
    labels = name, instant(clock_of([result]), time)
    ids = result.workload.jobs["job_id"].to_list()
    return _grid(ax, system, parts, labels, ids) if is_grid else _bars(ax, capacity, parts, labels, ids)


def _bars(ax: Axes, capacity: Floats, parts: _Parts, labels: tuple[str, str], ids: Sequence[int]) -> Axes:
    """Draw nodes as columns."""
    nodes = len(capacity)
    edges = np.arange(nodes + 1)
    ax.stairs(capacity, edges, fill=True, color=tint(GRID, 0.5))
    ax.stairs(capacity, edges, color=INK, linewidth=0.6)
    own = capacity[parts.node]
    _draw(ax, parts, (parts.node, parts.node + 1), (parts.low * own, parts.high * own))
    ax.set(xlim=(0, nodes), ylim=(0, capacity.max() * 1.02))
    boxes = _joined(
        parts.row,
        (parts.node.astype(np.float64), (parts.node + 1).astype(np.float64)),
        (parts.low * own, parts.high * own),
    )
    name_rectangles(ax, boxes, job_colours(boxes.row), ids)
    ax.set_xlabel(f"node, at {labels[1]}")
    ax.set_ylabel(labels[0])
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ticks = [tick for tick in MaxNLocator(10, integer=True).tick_values(0, nodes - 1) if 0 <= tick < nodes]
    ax.set_xticks([tick + 0.5 for tick in ticks], [plain(tick) for tick in ticks])
    return dress(ax, grid=None)


def _busiest(result: Result, resource: str) -> float:
    used = steps_of(result, {resource: pl.col(f"allocated_{resource}")})
    busiest = used[f"used_{resource}"].arg_max()
    return 0.0 if busiest is None else float(used["time"][busiest])


@dataclass(frozen=True)
class _Parts:
    """The parts of nodes that jobs hold: the job's row, the node, and the first and last share of it."""

    row: Integers
    node: Integers
    low: Floats
    high: Floats


def _parts(placed: Placements, time: float) -> _Parts:
    there = np.flatnonzero((placed.start <= time) & (placed.end > time) & (placed.share > 0))
    # In the order of rows, so that a job on several nodes is at one height if possible.
    order = there[np.lexsort((placed.row[there], placed.node[there]))]
    node, share = placed.node[order], placed.share[order]
    top = np.cumsum(share)
    first_of_node = np.concatenate([[True], node[1:] != node[:-1]]) if len(node) else np.zeros(0, np.bool_)
    below = np.maximum.accumulate(np.where(first_of_node, top - share, 0.0))
    return _Parts(placed.row[order], node, top - below - share, top - below)


def _grid(ax: Axes, system: System, parts: _Parts, labels: tuple[str, str], ids: Sequence[int]) -> Axes:
    """Draw nodes as tiles, filled from below."""
    tiles = tiles_of(system)
    left, low, width, height = tiles.nodes()
    every = np.arange(len(left))
    free = _Parts(every, every, np.zeros(len(left)), np.ones(len(left)))
    _draw(ax, free, (left, left + width), (low, low + height), colour=tint(GRID, 0.5))
    x, y = left[parts.node], low[parts.node]
    across, up = (x, x + width), (y + parts.low * height, y + parts.high * height)
    _draw(ax, parts, across, up)
    tiles.dress(ax)
    boxes = _joined(parts.row, across, up)
    name_rectangles(ax, boxes, job_colours(boxes.row), ids)
    ax.set_xlabel(f"{ax.get_xlabel()}; {labels[0]}, at {labels[1]}")
    dress(ax, grid=None)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def _joined(row: Integers, x: tuple[Floats, Floats], y: tuple[Floats, Floats]) -> Rectangles:
    """Join the parts of a job that are side by side."""
    order = np.lexsort((x[0], y[0].round(6), row))
    row, left, right = row[order], x[0][order], x[1][order]
    low, high = y[0][order], y[1][order]
    width = float((right - left).min(initial=1.0))
    goes_on = (np.diff(row) == 0) & (np.diff(low).round(6) == 0) & (np.diff(high).round(6) == 0)
    goes_on &= left[1:] - right[:-1] < width / 2
    first = np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(row)])
    last = np.append(first[1:], len(row)) - 1
    return Rectangles(row[first], left[first], right[last[: len(first)]], low[first], high[first])


def _draw(
    ax: Axes,
    parts: _Parts,
    x: tuple[Floats | Integers, Floats | Integers],
    y: tuple[Floats, Floats],
    colour: tuple[str, float] | None = None,
) -> None:
    corners = np.stack(
        [np.stack([x[0], x[1], x[1], x[0]], axis=1), np.stack([y[0], y[0], y[1], y[1]], axis=1)], axis=2
    )
    outlined = len(parts.row) <= _MOST_OUTLINED
    ax.add_collection(
        PolyCollection(
            [*corners],
            facecolors=job_colours(parts.row) if colour is None else [colour],
            edgecolors="white" if outlined else "face",
            linewidths=0.4 if outlined else 0.1,
            rasterized=len(parts.row) > _MOST_VECTORS,
        )
    )


View: TypeAlias = Literal["slices", "3d"]

_RANKS = "viridis"
_FREE, _OTHERS = "#f3f5f7", "#c9d1d9"
_MOST_TILES = 20_000


@plot
def job_nodes(
    results: Results,
    *,
    ax: Axes | None = None,
    time: float | None = None,
    job: int | None = None,
    view: View = "slices",
    title: str | None = None,
) -> Axes:
    """Draw the jobs on the nodes at an instant, or one job's ranks.

    Nodes of a torus are drawn by the coordinates of their routers, slice by slice if it has more than two
    dimensions; those of a dragonfly by blade and chassis, group by group; those of a fat tree by the switches
    above them; all others by number, row by row, with the number of the first node of each row. Jobs have
    their numbers, and the nodes of a single job theirs, if there is room. A node that jobs share shows one of
    them.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    ax
        The axes [default: new axes]. In 3D they need ``projection="3d"``.
    time
        The instant, in seconds [default: the start of the job, else the first at which most jobs run].
    job
        The ``job_id`` of one job: its nodes have colours from its first rank (dark) to its last (bright),
        those of other jobs are grey.
    view
        ``"slices"``, or ``"3d"`` for a torus of two or three dimensions.

    Raises
    ------
    ResultError
        If there are several groups, the job is unknown or has no nodes then, or the machine has no such view.
    """
    choice("view", view, get_args(View))
    result = single(results)
    row = None if job is None else _row(result, job)
    time = _instant(result, row) if time is None else time
    if not is_finite(time):
        raise ResultError(f"time = {shown(time)} s; must be a number.")
    colours = _colours(result, time, row)
    if view == "3d":
        return _in_space(result, colours, space(ax, title))
    ax = begin(ax, title=title, size=(7.2, 4.4))
    if not len(colours):
        return annotate(ax, "no nodes")
    tiles = tiles_of(result.system)
    _squares(ax, tiles, colours)
    tiles.dress(ax)
    _name_tiles(ax, result, tiles, time, row)
    ranks = "" if job is None else f"; job {job} from dark to bright"
    ax.set_xlabel(f"{ax.get_xlabel()}, at {instant(clock_of([result]), time)}{ranks}")
    ax.spines[:].set_visible(False)
    dress(ax, grid=None)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def _row(result: Result, job: int) -> int:
    rows = np.flatnonzero(result.workload.jobs["job_id"].to_numpy() == job)
    if not len(rows):
        raise ResultError(f"job = {shown(job)}; no job has this job_id.")
    return int(rows[0])


def _instant(result: Result, row: int | None) -> float:
    if row is not None:
        return float(np.nan_to_num(result.outcome.start_time[row]))
    used = steps_of(result)
    busiest = used["running"].arg_max()
    return 0.0 if busiest is None else float(used["time"][busiest])


def _colours(result: Result, instant: float, row: int | None) -> Colours:
    """Return the colour of each node: float64, shape (nodes, 3)."""
    placed = placements(result)
    colours = np.tile(np.array(to_rgb(_FREE)), (result.system.nodes, 1))
    there = np.flatnonzero((placed.start <= instant) & (placed.end > instant))
    if row is None:
        there = _on_top(placed, there)
        colours[placed.node[there]] = job_colours(placed.row[there])
        return colours
    colours[placed.node[there]] = to_rgb(_OTHERS)
    outcome = result.outcome
    mine = outcome.placement_nodes[outcome.placement_offsets[row] : outcome.placement_offsets[row + 1]]
    if not len(mine):
        job = result.workload.jobs["job_id"][row]
        raise ResultError(f"job = {job}; it has not run. Name one that has nodes in result.jobs.")
    shades: Any = colormaps[_RANKS](np.linspace(0.05, 0.95, len(mine)))
    colours[mine] = shades[:, :3]
    return colours


def _on_top(placed: Placements, there: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return one of the placements on each node, that of the job whose colour and number the node has."""
    node = placed.node[there]
    # The first of the reversed nodes is the last.
    last = len(node) - 1 - np.unique(node[::-1], return_index=True)[1]
    return there[np.sort(last)]


def _name_tiles(ax: Axes, result: Result, tiles: Tiles, instant: float, row: int | None) -> None:
    """Write the numbers of jobs, or of the nodes of one job, where there is room."""
    placed = placements(result)
    there = np.flatnonzero((placed.start <= instant) & (placed.end > instant))
    left, low, width, height = tiles.nodes()
    if row is None:
        there = _on_top(placed, there)
        node = placed.node[there]
        boxes = _joined(placed.row[there], (left[node], left[node] + width), (low[node], low[node] + height))
        name_rectangles(ax, boxes, job_colours(boxes.row), result.workload.jobs["job_id"].to_list())
        return
    outcome = result.outcome
    mine = outcome.placement_nodes[outcome.placement_offsets[row] : outcome.placement_offsets[row + 1]]
    node = mine.astype(np.int64)
    boxes = Rectangles(node, left[node], left[node] + width, low[node], low[node] + height)
    colours = _colours(result, instant, row)[node]
    name_rectangles(ax, boxes, colours, [str(number) for number in range(result.system.nodes)])


def _squares(ax: Axes, tiles: Tiles, colours: Colours) -> None:
    left, low, width, height = tiles.nodes()
    corners = np.stack(
        [
            np.stack([left, left + width, left + width, left], axis=1),
            np.stack([low, low, low + height, low + height], axis=1),
        ],
        axis=2,
    )
    edge = GRID if len(colours) <= _MOST_TILES else "face"
    ax.add_collection(
        PolyCollection(
            [*corners],
            facecolors=colours,
            edgecolors=edge,
            linewidths=0.4,
            rasterized=len(colours) > _MOST_TILES,
        )
    )


def _in_space(result: Result, colours: Colours, ax: Any) -> Axes:  # noqa: ANN401  # matplotlib's 3D axes have no types
    x, y, z, sides = box(result.system)
    used = (colours != np.array(to_rgb(_FREE))).any(axis=1)
    size = max(4.0, 4000 / max(sides) ** 2)
    free = ~used
    ax.scatter(x[free], y[free], z[free], s=size * 0.1, c=GRID, linewidths=0, depthshade=False)
    ax.scatter(
        x[used],
        y[used],
        z[used],
        s=size,
        c=colours[used],
        marker="s",
        edgecolors=INK,
        linewidths=0.2,
        depthshade=False,
    )
    drawn: Axes = ax
    return drawn
