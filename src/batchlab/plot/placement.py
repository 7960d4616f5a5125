"""Where jobs are: amounts by node and time, rectangles of jobs, and nodes as tiles or in space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from batchlab.errors import Argument, PlatformError, ResultError, shown
from batchlab.placement.orders import layout_of
from batchlab.platform import Dragonfly, FatTree, Torus
from batchlab.plot.canvas import GRID, INK, choice, picture_of
from batchlab.result.table import cut_since, since

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result
    from batchlab.system import System

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = [
    "Cells",
    "Placements",
    "Rectangles",
    "Tiles",
    "box",
    "cells",
    "placements",
    "rectangles",
    "space",
    "tiles_of",
]


_MOST_SLOTS = 48


@dataclass(frozen=True)
class Placements:
    """One entry per job and node, in order of start.

    Parameters
    ----------
    row
        int64: the job's row in the workload.
    node
        int64: the node.
    start, end
        float64, seconds; a job that still runs ends with the simulation.
    share
        float64: the share of the node's capacity that the job holds.
    nodes
        The number of nodes.
    slots
        The number of equal parts of a node, if its jobs are drawn side by side.
    """

    row: Integers
    node: Integers
    start: Floats
    end: Floats
    share: Floats
    nodes: int
    slots: int

    def between(self, start: float, end: float) -> Placements:
        """Keep the parts within a time span."""
        if not len(self.row) or (start <= self.start[0] and self.end.max() <= end):
            return self
        inside = (self.end > start) & (self.start < end)
        return Placements(
            self.row[inside],
            self.node[inside],
            self.start[inside].clip(start, end),
            self.end[inside].clip(start, end),
            self.share[inside],
            self.nodes,
            self.slots,
        )


@dataclass(frozen=True)
class Rectangles:
    """Rectangles of jobs over time and nodes: node n is from n to n + 1, and its jobs have parts of that."""

    row: Integers
    start: Floats
    end: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Cells:
    """A picture's cells, by rows of nodes and columns of time.

    Parameters
    ----------
    busy
        float64, shape (rows, columns): the mean share of the capacity in use.
    row
        int64, same shape: the row of the job that holds most of the cell; -1 if there is none.
    nodes_per_row
        The number of nodes in a row of cells.
    """

    busy: Floats
    row: Integers
    nodes_per_row: int


def placements(result: Result, resource: str | None = None) -> Placements:
    """List where jobs ran, and the share of each node that they held.

    Parameters
    ----------
    result
        The result of a run.
    resource
        The resource whose shares are meant [default: the system's first].

    Returns
    -------
    Placements
        In order of start.

    Raises
    ------
    ResultError
        If the system has no such resource.
    """
    outcome, system = result.outcome, result.system
    name = system.resources[0] if resource is None else choice("resource", resource, system.resources)
    index = system.resources.index(name)
    capacity = system.capacity[:, index]
    ran: tuple[npt.NDArray[Any], ...] = _runs_of(
        np.arange(len(outcome.state)),
        (outcome.placement_offsets, outcome.placement_nodes, outcome.placement_tasks),
        outcome.allocated[:, index],
        (since(outcome), outcome.end_time),
    )
    began = (cut_since(outcome), outcome.tables.get("resizes", {}).get("start_time"))
    for before, since_when in zip(
        (outcome.tables.get("interruptions"), outcome.tables.get("resizes")), began, strict=True
    ):
        if before is not None and since_when is not None and len(before["row"]):
            earlier = _runs_of(
                before["row"].astype(np.int64),
                (before["placement_offsets"], before["placement_nodes"], before["placement_tasks"]),
                before["allocated"][:, index],
                (since_when, before["end_time"]),
            )
            ran = tuple(np.concatenate(pair) for pair in zip(ran, earlier, strict=True))
            order = np.argsort(ran[3], kind="stable")
            ran = tuple(column[order] for column in ran)
    row, node, held, start, end = ran
    share = np.minimum(held / np.maximum(capacity[node], 1), 1.0)
    end = np.where(np.isnan(end), outcome.now, end)
    slots = int(min(max(capacity.max(initial=1), 1), _MOST_SLOTS))
    return Placements(row, node, start, end, share, system.nodes, slots)


def _runs_of(
    rows: Integers,
    placed: tuple[Integers, npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    allocated: Integers,
    times: tuple[Floats, Floats],
) -> tuple[npt.NDArray[Any], ...]:
    """Return row, node, amount held there, start and end of every run on each of its nodes, by start."""
    offsets, nodes, tasks = placed[0], placed[1].astype(np.int64), placed[2].astype(np.float64)
    total = np.add.reduceat(np.append(tasks, 0.0), offsets[:-1]) if len(rows) else tasks
    per_task = allocated / np.maximum(total, 1.0)
    # Runs are sorted before they are expanded to their nodes, which are many more.
    order = np.argsort(times[0], kind="stable")
    counts = np.diff(offsets)[order]
    first = offsets[:-1][order] - (np.cumsum(counts) - counts)
    entry = np.arange(counts.sum()) + np.repeat(first, counts)
    of_runs = (rows, per_task, *times)
    row, each, start, end = (np.repeat(column[order], counts) for column in of_runs)
    return row, nodes[entry], each * tasks[entry], start, end


def rectangles(placed: Placements) -> Rectangles:
    """Assign parts of nodes to jobs that no other job has at the time, contiguous if possible.

    The parts are only for drawing: the simulation counts amounts, and does not number a node's cores.
    Adjacent parts are joined, so that a job on whole neighbouring nodes is one rectangle.
    """
    free_at = np.full((placed.nodes, placed.slots), -np.inf)
    parts: list[tuple[int, float, float, int, int]] = []
    columns = zip(placed.row, placed.node, placed.start, placed.end, placed.share, strict=True)
    for row, node, start, end, share in columns:
        slots = _slots(free_at[node], start, max(1, round(share * placed.slots)))
        free_at[node, slots] = end
        base = int(node) * placed.slots
        parts += [(int(row), start, end, base + low, base + high) for low, high in _runs(slots)]
    return _joined(parts, placed.slots)


def _slots(free_at: Floats, start: float, wanted: int) -> Integers:
    free = np.flatnonzero(free_at <= start)
    if len(free) < wanted:
        # Because of rounding, jobs can want more slots than there are.
        return np.sort(np.argsort(free_at, kind="stable")[:wanted])
    together = np.flatnonzero(free[wanted - 1 :] - free[: len(free) - wanted + 1] == wanted - 1)
    first = int(together[0]) if len(together) else 0
    return free[first : first + wanted]


def _runs(slots: Integers) -> list[tuple[int, int]]:
    ends = np.flatnonzero(np.diff(slots) > 1)
    lows = slots[np.concatenate([[0], ends + 1]).astype(np.int64)]
    highs = slots[np.concatenate([ends, [len(slots) - 1]]).astype(np.int64)] + 1
    return [*zip(lows.tolist(), highs.tolist(), strict=True)]


def _joined(parts: list[tuple[int, float, float, int, int]], slots: int) -> Rectangles:
    joined: list[tuple[int, float, float, int, int]] = []
    for row, start, end, low, high in sorted(parts, key=lambda part: (part[0], part[1], part[3])):
        if joined and joined[-1][:3] == (row, start, end) and joined[-1][4] == low:
            low = joined.pop()[3]  # noqa: PLW2901  # the part grows downwards
        joined.append((row, start, end, low, high))
    table = np.array(joined, dtype=np.float64).reshape(-1, 5)
    return Rectangles(
        table[:, 0].astype(np.int64), table[:, 1], table[:, 2], table[:, 3] / slots, table[:, 4] / slots
    )


def cells(
    placed: Placements, start: float, end: float, *, columns: int, rows: int, owners: bool = True
) -> Cells:
    """Bin placements: exact means of use, and the job that held most of each cell.

    Parameters
    ----------
    placed
        The placements; those outside the time span do not count.
    start, end
        The time span, seconds; end > start.
    columns
        The number of cells into which it is divided.
    rows
        The maximum number of rows; if there are more nodes, neighbouring nodes share a row.
    owners
        True to find the job that holds most of each cell, which takes more time than the rest.

    Returns
    -------
    Cells
        The cells. Memory and time are proportional to placements plus cells.
    """
    inside = placed.between(start, end)
    width = (end - start) / columns
    together = -(-placed.nodes // rows)
    lines = -(-placed.nodes // together)
    first = np.minimum(((inside.start - start) / width).astype(np.int64), columns - 1)
    last = np.minimum(((inside.end - start) / width).astype(np.int64), columns - 1)
    repeats = last - first + 1
    which = np.repeat(np.arange(len(repeats)), repeats)
    column = np.arange(len(which)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + first[which]
    begins = np.maximum(inside.start[which], start + column * width)
    ends = np.minimum(inside.end[which], start + (column + 1) * width)
    held = np.maximum(ends - begins, 0.0) * inside.share[which]
    cell = inside.node[which] // together * columns + column
    in_line = np.full(lines, together)
    in_line[-1] = placed.nodes - together * (lines - 1)
    busy = np.bincount(cell, held, lines * columns).reshape(lines, columns) / (in_line[:, None] * width)
    owner = (
        _owners(cell, inside.row[which], held, lines * columns, joined=together > 1)
        if owners
        else np.full(lines * columns, -1)
    )
    return Cells(busy, owner.reshape(lines, columns), together)


def _owners(cell: Integers, row: Integers, held: Floats, count: int, *, joined: bool) -> Integers:
    """Return for each cell the row of the job that holds most of it, -1 if there is none."""
    if joined and len(cell):
        # A job may be on several nodes of a cell.
        key = cell * (int(row.max()) + 1) + row
        order = np.argsort(key, kind="stable")
        begins = np.flatnonzero(np.diff(key[order], prepend=-1))
        cell, row, held = cell[order][begins], row[order][begins], np.add.reduceat(held[order], begins)
    owner = np.full(count, -1, dtype=np.int64)
    order = np.argsort(held, kind="stable")
    order = order[held[order] > 0]
    # If an index occurs several times, NumPy keeps the last value, which is the greatest here.
    owner[cell[order]] = row[order]
    return owner


_WIDE = 1.6
_GAP = 1.2
_MOST_TICKS = 12
_MOST_APART = 80


@dataclass(frozen=True)
class Tiles:
    """The positions at which routers and nodes are drawn.

    Parameters
    ----------
    levels
        The numbers of nodes at a router, of routers along x and y, and of slices; each at least 1.
    places
        int64: the number of each node of the system in that order, nodes of a router first.
    names
        The names of x, of y and of a slice.
    """

    levels: tuple[int, int, int, int]
    places: Integers
    names: tuple[str, str, str]

    @property
    def slices(self) -> int:
        """The number of tiles."""
        return self.levels[3]

    @cached_property
    def columns(self) -> int:
        """The number of tiles side by side, such that all together are wider than high."""
        _, x, y, slices = self.levels
        most = min(slices, max(1, math.ceil(math.sqrt(slices * _WIDE * (y + _GAP) / (x + _GAP)))))
        # As few as the same number of rows needs.
        return math.ceil(slices / math.ceil(slices / most))

    def corner(self, number: Integers) -> tuple[Floats, Floats]:
        """Return the lower left corners of slices; the first is at the top left."""
        _, x, y, _ = self.levels
        row, column = np.divmod(number, self.columns)
        return column * (x + _GAP), -row * (y + _GAP)

    def routers(self, number: Integers) -> tuple[Floats, Floats]:
        """Return the centres of routers by their numbers: those along x first, then y, then slices."""
        _, x, y, _ = self.levels
        left, low = self.corner(number // (x * y))
        return left + number % x + 0.5, low + number // x % y + 0.5

    def nodes(self) -> tuple[Floats, Floats, float, float]:
        """Return the lower left corners of the nodes of the system, their width and their height."""
        here = self.levels[0]
        across = math.ceil(math.sqrt(here))
        down = math.ceil(here / across)
        router, own = np.divmod(self.places, here)
        x, y = self.routers(router)
        # There is a small gap between routers, unless it would be less than a point.
        side = 0.9 if self.levels[1] * self.columns <= _MOST_APART else 1.0
        width, height = side / across, side / down
        return x - side / 2 + own % across * width, y - side / 2 + own // across * height, width, height

    def dress(self, ax: Axes) -> None:
        """Name the axes and the slices."""
        _, x, y, slices = self.levels
        rows = math.ceil(slices / self.columns)
        ax.set_aspect("equal")
        ax.set_xlim(-0.4, self.columns * (x + _GAP) - _GAP + 0.4)
        ax.set_ylim(-(rows - 1) * (y + _GAP) - 0.4, y + (_GAP if slices > 1 else 0.4))
        unit = self.names[2] if len(self.names[2]) > 1 else "slice"
        inside = f" in each {unit}" if slices > 1 else ""
        ax.set_xlabel(self.names[0] + inside)
        ax.set_ylabel(self.names[1] + inside)
        # Rows of nodes without a topology have the number of their first node, columns how many follow it.
        plus, factor = ("", 1) if self.names[2] else ("+", x)
        for ticks, count, sign, each in ((ax.set_xticks, x, plus, 1), (ax.set_yticks, y, "", factor)):
            shown = range(0, count, -(-count // _MOST_TICKS)) if slices == 1 else ()
            ticks([place + 0.5 for place in shown], [f"{sign}{place * each:,}" for place in shown])
        for number in range(slices if slices > 1 else 0):
            left, low = self.corner(np.array(number))
            name = f"{self.names[2]} {number}" if len(self.names[2]) > 1 else f"{self.names[2]} = {number}"
            ax.text(
                float(left) + x / 2,
                float(low) + y + 0.1,
                name,
                ha="center",
                va="bottom",
                color=INK,
                fontsize="x-small",
            )


def tiles_of(system: System) -> Tiles:
    """Lay out the nodes of a system: by its topology if it has one, else by number, row by row."""
    count = system.nodes
    plain = Tiles(_row_by_row(count), np.arange(count), ("node in the row", "first node of the row", ""))
    try:
        layout = layout_of(system)
    except PlatformError:
        return plain
    levels = [*layout.levels, 1, 1]
    names = {
        Torus: ("x", "y", "z" if len(layout.levels) <= 4 else "slice"),  # noqa: PLR2004  # nodes and x, y, z
        Dragonfly: ("blade", "chassis", "group"),
        FatTree: ("switch on level 1", "on level 2", "part"),
    }.get(type(layout.topology))
    if names is None:
        return plain
    return Tiles((levels[0], levels[1], levels[2], math.prod(levels[3:])), np.array(layout.places), names)


def _row_by_row(count: int) -> tuple[int, int, int, int]:
    across = max(1, math.ceil(math.sqrt(count * _WIDE)))
    return 1, across, max(1, math.ceil(count / across)), 1


_MOST = 3


def box(system: System) -> tuple[Floats, Floats, Floats, tuple[int, ...]]:
    """Return the coordinates of each node of a torus; nodes of a router are close to one another.

    Returns
    -------
    tuple
        x, y and z, shape (nodes,), and the sides of the torus.

    Raises
    ------
    ResultError
        If the machine is not a torus of at most three dimensions.
    """
    try:
        layout = layout_of(system)
    except PlatformError as error:
        raise ResultError(f"view = '3d': {error}") from None
    sides = layout.levels[1:]
    if not isinstance(layout.topology, Torus) or len(sides) > _MOST:
        raise ResultError(
            "view = '3d'; needs a torus of at most three dimensions. Use ", Argument("view", "'slices'"), "."
        )
    here, number = layout.levels[0], np.array(layout.places)
    own, router = number % here, number // here
    point = np.zeros((_MOST, len(number)))
    for dimension, side in enumerate(sides):
        point[dimension] = router % side
        router = router // side
    x, y, z = point
    x += 0.3 * (own - (here - 1) / 2) / max(here - 1, 1)
    return x, y, z, sides


def space(ax: object, title: str | None) -> Any:  # noqa: ANN401  # matplotlib's 3D axes have no types
    """Return the three-dimensional axes to draw on: those given, or new ones in a new figure.

    Raises
    ------
    ResultError
        If the axes have two dimensions.
    """
    # The import registers the projection.
    import mpl_toolkits.mplot3d  # type: ignore[import-untyped]  # noqa: F401, PLC0415

    if ax is None:
        ax = Figure(figsize=(6.4, 5.2), dpi=150, layout="constrained").add_subplot(projection="3d")
    elif not hasattr(ax, "get_zlim"):
        raise ResultError(
            f"ax = {shown(ax)}; must be axes of projection='3d' for ", Argument("view", "'3d'"), "."
        )
    drawn: Any = ax
    drawn._repr_png_ = partial(picture_of, drawn)  # a notebook shows it
    if title is not None:
        drawn.set_title(title, loc="left", fontsize="medium", color=INK)
    for name in "xyz":
        getattr(drawn, f"set_{name}label")(name, color=INK)
        axis = getattr(drawn, f"{name}axis")
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_pane_color((1, 1, 1, 1))
        axis.line.set_color(GRID)
    drawn.tick_params(colors=INK, labelsize="small")
    return drawn
