"""Plot of the jobs over time and nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.ticker import MaxNLocator, PercentFormatter

from batchlab.core.units import is_real
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import INK, PALETTE, annotate, begin, choice, dress, pale, plot
from batchlab.plot.clock import clock_of, time_axis
from batchlab.plot.job_boxes import draw_rectangles, job_colours, name_rectangles, touching_colours
from batchlab.plot.job_classes import BY, JobClasses, class_legend, job_classes
from batchlab.plot.placement import Placements, cells, placements, rectangles
from batchlab.plot.results import Results, single
from batchlab.plot.scales import nice_step, short_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["gantt"]

_MOST_RECTANGLES = 5000
_MOST_LABELS = 300
_COLUMNS, _ROWS = 1200, 600
_MEANS, _MEAN_ROWS = 120, 40
_FEWEST_COLUMNS = 6


@plot
def gantt(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    start: float | None = None,
    end: float | None = None,
    shows: Literal["jobs", "use"] | None = None,
    colour_by: Literal["job", "size", "user", "queue", "state"] = "job",
    labels: bool | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the jobs of one result over time and nodes.

    Up to some thousand jobs are rectangles, or several that touch, if a job was resized; jobs that share a
    node have parts of its height, in proportion to their shares. More jobs are a picture: each of its cells
    has the colour of the job that holds most of it, paler if less of the cell is in use. If jobs are so short
    that their colours would only flicker, as in a whole log, cells are means of use over longer times and
    several nodes. These are exact means, for any number of jobs.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    resource
        The resource whose shares are shown [default: the system's first].
    start, end
        The time span, in seconds [default: all].
    shows
        ``"jobs"`` or ``"use"`` [default: jobs if they can be distinguished].
    colour_by
        ``"job"``: rectangles that touch differ in colour. ``"size"``, ``"user"``, ``"queue"`` or ``"state"``:
        jobs of one class have one colour, which the legend names.
    labels
        True to write the number of each job into its rectangle, if it has room [default: True for up to 300
        rectangles].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. If jobs are drawn individually, nodes that sleep are grey, and hatched while they fall
        asleep and wake.

    Raises
    ------
    ResultError
        If there are several groups, or an argument is invalid.
    """
    if shows is not None:
        choice("shows", shows, ("jobs", "use"))
    choice("colour_by", colour_by, ("job", *BY))
    result = single(results)
    placed = placements(result, resource)
    ax = begin(ax, title=title, size=(7.2, 4.0))
    if not len(placed.row):
        return annotate(ax, "no job has run")
    classes = None if colour_by == "job" else job_classes(result, colour_by)
    first, last = time_span(placed, start, end)
    shown = placed.between(first, last)
    ax.set(xlim=(first, last), ylim=(0, placed.nodes), ylabel="node")
    means = ""
    if shows != "use" and len(shown.row) <= _MOST_RECTANGLES:
        boxes = rectangles(shown)
        colours = touching_colours(boxes) if classes is None else classes.rgb(boxes.row)
        draw_rectangles(ax, boxes, colours)
        if labels or (labels is None and len(boxes.row) <= _MOST_LABELS):
            name_rectangles(ax, boxes, colours, result.workload.jobs["job_id"].to_list())
        _sleep(ax, result)
    else:
        of_jobs = shows == "jobs" or classes is not None
        if of_jobs or (shows is None and _are_visible(shown, (last - first) / _COLUMNS)):
            _picture_of_jobs(ax, shown, (first, last), classes)
        else:
            _picture_of_use(ax, shown, (first, last), resource or result.system.resources[0])
            means = f" (means over {short_duration(nice_step(last - first, _MEANS))})"
    ax.set_xlabel(time_axis(ax, clock_of([result])) + means)
    _node_ticks(ax, placed.nodes)
    if classes is not None:
        class_legend(ax, classes)
    return dress(ax, grid=None)


def time_span(placed: Placements, start: float | None, end: float | None) -> tuple[float, float]:
    """Return the time span to show: the given one, or from the first start to the last end.

    Raises
    ------
    ResultError
        If it is empty.
    """
    first = float(placed.start.min()) if start is None else start
    last = float(placed.end.max()) if end is None else end
    if start is None and end is None and last == first:
        last = first + 1.0
    if not (is_real(first) and is_real(last) and first < last):
        raise ResultError(
            f"start = {shown(first)} s, end = {shown(last)} s; must be numbers, and the end the later one."
        )
    return first, last


def _sleep(ax: Axes, result: Result) -> None:
    """Draw when nodes slept, and over the jobs when they fell asleep or woke."""
    if "power_states" not in result.outcome.tables:
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


def _are_visible(placed: Placements, column: float) -> bool:
    """Return whether at least half of the held time is in jobs long enough to be visible."""
    length = placed.end - placed.start
    visible = length[length >= _FEWEST_COLUMNS * column]
    return len(length) > 0 and 2 * float(visible.sum()) >= float(length.sum())


def _picture_of_jobs(
    ax: Axes, shown: Placements, span: tuple[float, float], classes: JobClasses | None
) -> None:
    binned = cells(shown, *span, columns=_COLUMNS, rows=_ROWS)
    rows = np.maximum(binned.row, 0)
    hues = job_colours(rows) if classes is None else classes.rgb(rows)
    colours = 1 - np.clip(binned.busy, 0, 1)[..., None] * (1 - hues)
    extent = (*span, 0.0, float(binned.busy.shape[0] * binned.nodes_per_row))
    ax.imshow(colours, origin="lower", extent=extent, aspect="auto", interpolation="nearest", rasterized=True)


def _picture_of_use(ax: Axes, shown: Placements, span: tuple[float, float], resource: str) -> None:
    width = nice_step(span[1] - span[0], _MEANS)
    columns = math.ceil((span[1] - span[0]) / width)
    binned = cells(shown, span[0], span[0] + columns * width, columns=columns, rows=_MEAN_ROWS, owners=False)
    busy = binned.busy.copy()
    # The last column may be only partly inside the span.
    busy[:, -1] *= width / (span[1] - span[0] - (columns - 1) * width)
    image = ax.imshow(
        np.clip(busy, 0, 1),
        origin="lower",
        extent=(span[0], span[0] + columns * width, 0.0, float(busy.shape[0] * binned.nodes_per_row)),
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
