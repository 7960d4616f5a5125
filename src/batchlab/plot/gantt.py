"""What ran on which node, and when."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.ticker import MaxNLocator, PercentFormatter

from batchlab.errors import ResultError
from batchlab.plot.canvas import INK, PALETTE, begin, choice, dress, pale, say
from batchlab.plot.placement import Cells, Placements, Rectangles, cells, placements, rectangles
from batchlab.plot.results import Results, single
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.placement import Integers
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["gantt", "job_colours", "job_hues", "time_span"]

_MOST_RECTANGLES = 5000
_MOST_VECTORS = 1500
_COLUMNS, _ROWS = 1200, 600
_FEWEST_COLUMNS = 6
# P. Tol, "Colour schemes" (2021), muted: distinct with any kind of colour vision.
_HUES = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")


def gantt(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    start: float | None = None,
    end: float | None = None,
    shows: Literal["jobs", "use"] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the jobs of one result over time and nodes.

    Up to some thousand jobs are rectangles, each in a colour of its own, or several that touch, where a job
    was resized; jobs that share a node have parts of its height, as large as their shares of it. More are a
    picture: each of its cells has the colour of
    the job that holds most of it, the paler, the less of the cell is in use at all. Where jobs are so short
    on the picture that their colours would only flicker, cells show how much of them is in use. These are
    exact means, however many jobs there are.

    Parameters
    ----------
    results
        One result; of replications the first is drawn.
    ax
        The axes to draw on; new ones unless given.
    resource
        Whose shares are meant; the system's first unless given.
    start, end
        The time span, seconds; all of it unless given.
    shows
        ``"jobs"`` or ``"use"``; what can be distinguished unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on. Where jobs are drawn one by one, nodes that sleep are grey then, and hatched as they
        fall asleep and wake.

    Raises
    ------
    ResultError
        If there are several groups, or an argument is not one of its values.
    """
    if shows is not None:
        choice("shows", shows, ("jobs", "use"))
    result = single(results)
    placed = placements(result, resource)
    ax = begin(ax, title=title, size=(7.2, 4.0))
    if not len(placed.row):
        return say(ax, "no job has run")
    first, last = time_span(placed, start, end)
    shown = placed.between(first, last)
    if shows != "use" and len(shown.row) <= _MOST_RECTANGLES:
        _rectangles(ax, shown)
        _sleep(ax, result)
    else:
        binned = cells(shown, first, last, columns=_COLUMNS, rows=_ROWS)
        extent = (first, last, 0.0, float(binned.busy.shape[0] * binned.nodes_per_row))
        if shows == "jobs" or (shows is None and _are_visible(shown, binned, (last - first) / _COLUMNS)):
            _picture_of_jobs(ax, binned, extent)
        else:
            _picture_of_use(ax, binned, extent, resource or result.system.resources[0])
    ax.set(xlim=(first, last), ylim=(0, placed.nodes), xlabel="simulated time", ylabel="node")
    duration_axis(ax, "x")
    _node_ticks(ax, placed.nodes)
    return dress(ax, grid=None)


def time_span(placed: Placements, start: float | None, end: float | None) -> tuple[float, float]:
    """Give the time span to show: what was asked for, or from the first start to the last end.

    Raises
    ------
    ResultError
        If it is empty.
    """
    first = float(placed.start.min()) if start is None else start
    last = float(placed.end.max()) if end is None else end
    if start is None and end is None and last == first:
        last = first + 1.0
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        raise ResultError(
            f"start = {first!r} s, end = {last!r} s; must be numbers, and the end the later one."
        )
    return first, last


def job_colours(rows: Integers) -> Floats:
    """Give each job its colour: float64, shape (jobs, 3); jobs of near rows differ."""
    hues = np.array([pale(hue, 0.85) for hue in _HUES])
    return hues[_hue_numbers(rows)]


def job_hues(rows: Integers) -> list[str]:
    """Give each job its colour in the form ``#rrggbb``."""
    hues = [to_hex(pale(hue, 0.85)) for hue in _HUES]
    return [hues[number] for number in _hue_numbers(rows)]


def _hue_numbers(rows: Integers) -> Integers:
    # Steps of 4 among 9 hues: neighbours differ most.
    return rows * 4 % len(_HUES)


def _rectangles(ax: Axes, placed: Placements) -> None:
    boxes = rectangles(placed)
    corners = np.stack(
        [
            np.stack([boxes.start, boxes.end, boxes.end, boxes.start], axis=1),
            np.stack([boxes.low, boxes.low, boxes.high, boxes.high], axis=1),
        ],
        axis=2,
    )
    few = len(boxes.row) <= _MOST_VECTORS
    ax.add_collection(
        PolyCollection(
            list(corners),
            facecolors=job_colours(boxes.row),
            edgecolors="white" if few else "face",
            linewidths=0.3 if few else 0.1,
            rasterized=not few,
        )
    )
    if few:
        _cover_seams(ax, boxes)


def _sleep(ax: Axes, result: Result) -> None:
    """Draw when nodes slept, and over the jobs when they fell asleep or woke."""
    if result.outcome.power_states is None:
        return
    states = result.power_states.filter(pl.col("state") != "on")
    if len(states) > _MOST_RECTANGLES:
        return
    names = [state.name for group in result.system.groups for state in group.sleep_states]
    is_asleep = states["state"].cast(pl.String).is_in(names)
    for part, hatch in ((states.filter(is_asleep), None), (states.filter(~is_asleep), "////")):
        boxes = [
            [(start, node), (end, node), (end, node + 1), (start, node + 1)]
            for node, start, end in part.select("node", "start_time", "end_time").iter_rows()
        ]
        shade = PolyCollection(boxes, facecolors="#0000001a", linewidths=0, hatch=hatch)
        shade.set_edgecolor("#00000040")
        ax.add_collection(shade)


def _cover_seams(ax: Axes, boxes: Rectangles) -> None:
    """Draw over the lines within jobs that were resized: what stays theirs is one piece."""
    ends: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for row, end, low, high in zip(boxes.row, boxes.end, boxes.low, boxes.high, strict=True):
        ends.setdefault((row, end), []).append((low, high))
    rows, seams = [], []
    for row, start, low, high in zip(boxes.row, boxes.start, boxes.low, boxes.high, strict=True):
        for below, above in ends.get((row, start), []):
            if max(low, below) < min(high, above):
                rows.append(row)
                seams.append([(start, max(low, below)), (start, min(high, above))])
    colours = job_colours(np.array(rows, np.int64))
    ax.add_collection(LineCollection(seams, colors=colours, linewidths=2.4, capstyle="butt"))


def _are_visible(placed: Placements, binned: Cells, column: float) -> bool:
    """Tell whether what holds most of the cells is long enough to be seen as one thing."""
    length = np.zeros(int(placed.row.max()) + 1)
    length[placed.row] = (placed.end - placed.start) / column
    held = length[binned.row[binned.row >= 0]]
    return len(held) > 0 and float(np.median(held)) >= _FEWEST_COLUMNS


def _picture_of_jobs(ax: Axes, binned: Cells, extent: tuple[float, float, float, float]) -> None:
    busy = np.clip(binned.busy, 0, 1)[..., None]
    colours = 1 - busy * (1 - job_colours(np.maximum(binned.row, 0)))
    ax.imshow(colours, origin="lower", extent=extent, aspect="auto", interpolation="nearest", rasterized=True)


def _picture_of_use(
    ax: Axes, binned: Cells, extent: tuple[float, float, float, float], resource: str
) -> None:
    image = ax.imshow(
        np.clip(binned.busy, 0, 1),
        origin="lower",
        extent=extent,
        aspect="auto",
        interpolation="nearest",
        rasterized=True,
        cmap=LinearSegmentedColormap.from_list("use", ["#ffffff", to_hex(pale(PALETTE[0], 0.6)), "#08306b"]),
        vmin=0,
        vmax=1,
    )
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.015, format=PercentFormatter(1, symbol=" %"))
    bar.set_label(f"{resource} in use", color=INK)
    bar.ax.tick_params(colors=INK, labelsize="small", length=3)
    bar.outline.set_visible(False)


def _node_ticks(ax: Axes, nodes: int) -> None:
    """Put each number in the middle of its node."""
    ticks = [tick for tick in MaxNLocator(8, integer=True).tick_values(0, nodes - 1) if 0 <= tick < nodes]
    ax.set_yticks([tick + 0.5 for tick in ticks], [f"{tick:.0f}" for tick in ticks])
