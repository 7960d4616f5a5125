"""Plot of the amounts that jobs, or classes of jobs, hold over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator

from batchlab.plot.canvas import INK, annotate, begin, choice, dress, plot
from batchlab.plot.clock import clock_of, time_axis
from batchlab.plot.job_boxes import job_colours
from batchlab.plot.job_classes import BY, JobClasses, class_legend, job_classes
from batchlab.plot.results import Results, single
from batchlab.plot.stacked import means, stacked, windows

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["allocations"]

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
    """Draw the amounts of a resource that jobs hold over time, stacked: by job, or by classes of jobs.

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
        label: means(table.filter(number == place), edges, f"allocated_{name}")
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
