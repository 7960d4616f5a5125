"""Schedules: jobs on nodes over time, their amounts, and when they wait and run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from batchlab.core.rules import is_finite
from batchlab.errors import Argument, ResultError, shown
from batchlab.plot.canvas import INK, PALETTE, annotate, begin, choice, dress, pale, plot
from batchlab.plot.job_classes import (
    BY,
    JobClasses,
    class_legend,
    draw_rectangles,
    job_classes,
    job_colours,
    name_rectangles,
    touching_colours,
)
from batchlab.plot.over_time import stacked, window_means, windows
from batchlab.plot.placement import Placements, cells, placements, rectangles
from batchlab.plot.results import Results, jobs_of, single, steps_of
from batchlab.plot.scales import clock_of, nice_step, plain, short_duration, time_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["allocations", "gantt", "job_times"]


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
        jobs of one class have one colour, which the legend names. Users and queues are ranked by what they
        hold in the time span; at least 80 % of that has a colour, the rest is grey.
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
    first, last = time_span(placed, start, end)
    shown = placed.between(first, last)
    if not len(shown.row):
        return annotate(ax, "no job ran in this time span")
    classes = (
        None if colour_by == "job" else job_classes(result, colour_by, _held(result, shown, first, last))
    )
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


def _held(result: Result, shown: Placements, first: float, last: float) -> Floats:
    """Return the node seconds that each job holds in a time span: float64, shape (jobs,)."""
    inside = np.minimum(shown.end, last) - np.maximum(shown.start, first)
    weights = np.maximum(inside, 0.0) * shown.share
    return np.bincount(shown.row, weights, len(result.workload)).astype(np.float64)


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
    begun, ended = float(placed.start.min()), float(placed.end.max())
    if (is_finite(first) and first > ended) or (is_finite(last) and last < begun):
        raise _outside(start, end, f"must overlap the runs of the jobs, {begun:.12g} s to {ended:.12g} s")
    if not (is_finite(first) and is_finite(last) and first < last):
        raise ResultError(
            f"start = {shown(first)} s, ",
            Argument("end", shown(last)),
            " s; must be seconds, and the end the later one.",
        )
    return first, last


def _outside(start: float | None, end: float | None, rule: str) -> ResultError:
    """Return the error for a time span that has nothing to show."""
    if start is None:
        return ResultError(f"end = {shown(end)} s; {rule}.")
    until = () if end is None else (", ", Argument("end", shown(end)), " s")
    return ResultError(f"start = {shown(start)} s", *until, f"; {rule}.")


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
    ax.set_yticks([tick + 0.5 for tick in ticks], [plain(tick) for tick in ticks])


_MOST_JOBS = 300
_MOST_INSTANTS = 1200
_MOST_VECTORS = 1500


@plot
def allocations(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    by: Literal["job", "size", "user", "queue", "state"] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the amounts of a resource that jobs hold over time: by job, or by classes of jobs.

    By job, jobs that started earlier are lower, in the colours of `allocation_map`: this shows how jobs grow
    and shrink, independently of their nodes. By classes, it shows who uses the machine, as means over
    windows.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    resource
        The resource [default: the system's first].
    by
        ``"job"``, or ``"size"``, ``"user"``, ``"queue"`` or ``"state"`` of jobs [default: ``"job"`` up to 300
        allocations, otherwise ``"size"``].

    Raises
    ------
    ResultError
        If there are several groups, an argument is invalid, or jobs have no such class.
    """
    result = single(results)
    resources = result.system.resources
    name = resources[0] if resource is None else choice("resource", resource, resources)
    if by is not None:
        choice("by", by, ("job", *BY))
    ax = begin(ax, title=title, size=(7.2, 4.0))
    table = result.allocations.with_columns(pl.col("end_time").fill_null(result.outcome.now))
    if table.is_empty():
        return annotate(ax, "no job has run")
    if by is None:
        by = "job" if table.height <= _MOST_JOBS else "size"
    if by == "job":
        _job_by_job(ax, result, table, name)
    else:
        _by_class(ax, result, table, name, job_classes(result, by))
    total = result.system.total[name]
    ax.axhline(total, color=INK, linewidth=0.8, linestyle=":")
    ax.set_ylim(0, max(total, 1) * 1.03)
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    return dress(ax, grid=None)


def _by_class(ax: Axes, result: Result, table: pl.DataFrame, name: str, classes: JobClasses) -> None:
    edges = windows(float(table["start_time"].min()), float(table["end_time"].max()))  # type: ignore[arg-type]  # numbers
    number = classes.number[table["row"].to_numpy()]
    courses = {
        label: window_means(table.filter(number == place), edges, f"allocated_{name}")
        for place, label in enumerate(classes.names)
    }
    colours = dict(zip(classes.names, classes.colours, strict=True))
    clock = clock_of([result])
    stacked(ax, courses, edges, f"{name} held by jobs", colours=colours, clock=clock)
    class_legend(ax, classes, reverse=True)


def _job_by_job(ax: Axes, result: Result, table: pl.DataFrame, name: str) -> None:
    start, end = table["start_time"].to_numpy(), table["end_time"].to_numpy()
    rows, amount = table["row"].to_numpy().astype(np.int64), table[f"allocated_{name}"].to_numpy()
    layers = _layers(rows, start, end, amount)
    few = len(layers.row) <= _MOST_VECTORS
    ax.add_collection(
        PolyCollection(
            _outlines(layers),
            facecolors=job_colours(layers.row[layers.begins]),
            edgecolors="white" if few else "face",
            linewidths=0.3 if few else 0.1,
            rasterized=not few,
        )
    )
    last = max(float(end.max()), float(start.min()) + 1e-9)
    ax.set(xlim=(float(start.min()), last), ylabel=f"{name} held by each job")
    ax.set_xlabel(time_axis(ax, clock_of([result])))


@dataclass(frozen=True)
class _Layers:
    """The amounts that jobs hold in each column of time, by job and column; without empty ones.

    Parameters
    ----------
    row
        int64: the job.
    start, end, low, high
        float64: the position of the column in time, and of the layer in it.
    begins
        int64: the places of the layers that do not continue that of the previous column.
    """

    row: Integers
    start: Floats
    end: Floats
    low: Floats
    high: Floats
    begins: Integers


def _layers(row: Integers, start: Floats, end: Floats, amount: Integers) -> _Layers:
    """Stack the amounts held between any two instants; jobs that started earlier are lower."""
    instants = np.unique(np.concatenate([start, end]))
    if len(instants) > _MOST_INSTANTS:
        instants = np.linspace(instants[0], instants[-1], _MOST_INSTANTS)
    # A stretch is in the columns at whose beginning it holds.
    first, last = np.searchsorted(instants, start), np.searchsorted(instants, end)
    counts = np.maximum(last - first, 0)
    which = np.repeat(np.arange(len(row)), counts)
    column = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + first[which]
    began = np.full(int(row.max(initial=-1)) + 1, np.inf)
    np.minimum.at(began, row, start)
    job, held = row[which], amount[which].astype(np.float64)
    upwards = np.lexsort((job, began[job], column))
    job, column, held = job[upwards], column[upwards], held[upwards]
    top = np.cumsum(held)
    bottom = np.maximum.accumulate(np.where(np.diff(column, prepend=-1) > 0, top - held, 0.0))
    onwards = np.lexsort((column, job))
    job, column = job[onwards], column[onwards]
    high = (top - bottom)[onwards]
    starts = (np.diff(job, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 1)
    edges = instants[column], instants[np.minimum(column + 1, len(instants) - 1)]
    return _Layers(job, *edges, high - held[onwards], high, np.flatnonzero(starts))


def _outlines(layers: _Layers) -> list[Floats]:
    """Outline what each job holds without a break: along its upper edges, and back along the lower ones."""
    outlines = []
    for first, last in zip(layers.begins, np.append(layers.begins, len(layers.row))[1:], strict=True):
        part = slice(first, last)
        times = np.stack([layers.start[part], layers.end[part]], axis=1).ravel()
        above, below = np.repeat(layers.high[part], 2), np.repeat(layers.low[part], 2)
        edge = np.concatenate([above, below[::-1]])
        outlines.append(np.stack([np.concatenate([times, times[::-1]]), edge], axis=1))
    return outlines


# Thinner bars would not be recognisable as bars.
_MOST_BARS = 150
_WAITS, _RUNS = pale(PALETTE[1], 0.45), PALETTE[0]


@plot
def job_times(
    results: Results,
    *,
    ax: Axes | None = None,
    start: float | None = None,
    end: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the waits and runs of jobs as bars (Fig. 6 of [1]): from submission over start to end.

    Jobs are in the order of submission. Unless a time span is given, at most 150 are shown: those that were
    submitted around the first instant at which most jobs wait, half of them before and half after. The label
    of the axis says how many of all jobs are shown.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    start, end
        Show all jobs that were submitted from and up to these times, in seconds: ``start=0`` shows every job.

    Raises
    ------
    ResultError
        If there are several groups.

    References
    ----------
    [1] T. Özden, T. Beringer, A. Mazaheri, H. Mohammadi Fard and F. Wolf, "ElastiSim: a batch-system
    simulator for malleable workloads", ICPP 2022.
    """
    result = single(results)
    jobs = _present(result, start, end)
    ax = begin(ax, title=title, size=(6.4, 4.0))
    if jobs.is_empty():
        return annotate(ax, "no job was submitted")
    chosen = _chosen(result, jobs) if start is None and end is None else jobs
    bars, ids = _bars_of(result, chosen), chosen["job_id"].to_list()
    first, last = float(bars.start.min()), float(bars.end.max())
    last = last if last > first else first + 1.0
    _draw(ax, bars)
    of_all = f", {len(ids):,} of {jobs.height:,}" if len(ids) < jobs.height else ""
    ax.set(xlim=(first, last), ylim=(0, len(ids)), ylabel=f"job{of_all}")
    ax.set_xlabel(time_axis(ax, clock_of([result])))
    _name_jobs(ax, ids)
    handles = [Patch(color=_WAITS, label="waits"), Patch(color=_RUNS, label="runs")]
    ax.legend(
        handles=handles,
        ncols=2,
        frameon=False,
        fontsize="small",
        labelcolor=INK,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.0,
    )
    return dress(ax, grid="x")


def _present(result: Result, start: float | None, end: float | None) -> pl.DataFrame:
    """Return the jobs that were submitted, in this order, with their rows."""
    jobs = jobs_of(result).with_row_index("row")
    present = jobs.filter(~jobs["state"].is_in(["loaded", "rejected"])).sort("submit_time", "row")
    for name, bound in (("start", start), ("end", end)):
        if bound is not None and not is_finite(bound):
            raise ResultError(f"{name} = {shown(bound)} s; must be a number.")
    chosen = present
    if start is not None:
        chosen = chosen.filter(pl.col("submit_time") >= start)
    if end is not None:
        chosen = chosen.filter(pl.col("submit_time") <= end)
    if chosen.is_empty() and len(present):
        submitted = present["submit_time"]
        times = f"{submitted[0]:.12g} s to {submitted[-1]:.12g} s"
        raise _outside(start, end, f"must contain a submission; jobs were submitted from {times}")
    return chosen


def _chosen(result: Result, jobs: pl.DataFrame) -> pl.DataFrame:
    """Choose, if there are too many jobs, those submitted around the instant at which most of them wait."""
    if jobs.height <= _MOST_BARS:
        return jobs
    submitted = jobs["submit_time"].to_numpy()
    course = steps_of(result).filter(pl.col("time").is_between(submitted[0], submitted[-1]))
    longest = course["queued"].arg_max()
    instant = submitted[0] if longest is None else float(course["time"][longest])
    middle = int(np.searchsorted(submitted, instant))
    begin = min(max(middle - _MOST_BARS // 2, 0), jobs.height - _MOST_BARS)
    return jobs.slice(begin, _MOST_BARS)


def _name_jobs(ax: Axes, ids: list[int]) -> None:
    ticks = MaxNLocator(8, steps=[1, 2, 5, 10], integer=True).tick_values(1, len(ids))
    numbers = [int(tick) for tick in ticks if 1 <= tick <= len(ids)]
    ax.set_yticks([number - 0.5 for number in numbers], [str(ids[number - 1]) for number in numbers])


@dataclass(frozen=True)
class _Bars:
    """Intervals of jobs: the job's position, whether it runs, and the start and end."""

    place: Integers
    runs: npt.NDArray[np.bool_]
    start: Floats
    end: Floats


def _bars_of(result: Result, jobs: pl.DataFrame) -> _Bars:
    """Make a bar for each job from its submission to its end, and one over that for each run."""
    place = np.full(len(result.workload), -1)
    place[jobs["row"].to_numpy()] = np.arange(jobs.height)
    lives = jobs.select("row", start="submit_time", end="end_time")
    ran = jobs.filter(jobs["start_time"].is_not_null()).select("row", start="start_time", end="end_time")
    shown = pl.col("row").cast(pl.UInt32).is_in(jobs["row"].cast(pl.UInt32).implode())
    cut = result.interruptions.filter(shown).select("row", start="start_time", end="end_time")
    parts = [_columns(table, place, result.outcome.now) for table in (lives, ran, cut)]
    runs = np.repeat([False, True, True], [len(each[0]) for each in parts])
    where, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Bars(where, runs, start, end)


def _columns(table: pl.DataFrame, place: Integers, now: float) -> tuple[Integers, Floats, Floats]:
    end = table["end"].fill_null(now).to_numpy()
    return place[table["row"].to_numpy()], table["start"].to_numpy(), end


def _draw(ax: Axes, bars: _Bars) -> None:
    for runs, colour in ((False, _WAITS), (True, _RUNS)):
        of_kind = bars.runs == runs
        low, high = bars.place[of_kind] + 0.05, bars.place[of_kind] + 0.95
        start, end = bars.start[of_kind], bars.end[of_kind]
        corners = np.stack(
            [np.stack([start, end, end, start], axis=1), np.stack([low, low, high, high], axis=1)], axis=2
        )
        ax.add_collection(PolyCollection([*corners], facecolors=colour, edgecolors="none"))
