"""Plot of the positions of jobs on the machine at one instant: in 2D, slice by slice, or in 3D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

from batchlab.core.units import is_real
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import GRID, INK, annotate, begin, choice, dress, plot
from batchlab.plot.clock import clock_of, instant
from batchlab.plot.job_boxes import job_colours
from batchlab.plot.placement import placements
from batchlab.plot.results import Results, single, steps_of
from batchlab.plot.space import box, space
from batchlab.plot.tiles import Tiles, tiles_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Colours: TypeAlias = npt.NDArray[np.float64]

__all__ = ["job_nodes"]

View: TypeAlias = Literal["slices", "3d"]

_RANKS = "viridis"
_FREE, _OTHERS = "#f3f5f7", "#c9d1d9"
_MOST_VECTORS = 20_000


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
    """Draw the jobs on the nodes of the machine at one instant, or the ranks of one job.

    Nodes of a torus are drawn by the coordinates of their routers, slice by slice if it has more than two
    dimensions; those of a dragonfly by blade and chassis, group by group; those of a fat tree by the switches
    above them; all others by number, row by row.

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
    if not is_real(time):
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


def _squares(ax: Axes, tiles: Tiles, colours: Colours) -> None:
    left, low, width, height = tiles.nodes()
    corners = np.stack(
        [
            np.stack([left, left + width, left + width, left], axis=1),
            np.stack([low, low, low + height, low + height], axis=1),
        ],
        axis=2,
    )
    edge = GRID if len(colours) <= _MOST_VECTORS else "face"
    ax.add_collection(
        PolyCollection(
            [*corners],
            facecolors=colours,
            edgecolors=edge,
            linewidths=0.4,
            rasterized=len(colours) > _MOST_VECTORS,
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
