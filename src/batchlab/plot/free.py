"""Free nodes: their number, their neighbours, and how scattered they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.font_manager import FontProperties

from batchlab.plot.canvas import INK, annotate, begin, choice, plot
from batchlab.plot.job_classes import size_colours
from batchlab.plot.over_time import Line, Steps, over_time, size_of, stacked, windows
from batchlab.plot.over_time import means as means_over
from batchlab.plot.placement import placements
from batchlab.plot.results import Results, clock_of_groups, groups, single, steps_of
from batchlab.plot.scales import Values, clock_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.placement import Placements
    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["fragmentation", "free_nodes", "free_slots"]

_CELLS = 4_000_000  # instants × nodes at a time
_MOST_CELLS = 100_000_000


def free_runs(result: Result) -> tuple[Floats, Iterator[tuple[slice, Integers, Integers]]]:
    """Find the runs of free nodes with neighbouring numbers, after each instant of the timeline.

    Parameters
    ----------
    result
        The result.

    Returns
    -------
    times
        float64, shape (instants,), rising, seconds. If instants × nodes are more than 10^8, only every second
        instant, or every third, and so on.
    runs
        Yields groups of instants: a slice of `times`, and for each run of free nodes the position of its
        instant in this slice and the number of its nodes, int64 each.
    """
    times = steps_of(result)["time"].to_numpy()
    every = -(-len(times) * result.system.nodes // _MOST_CELLS)
    times = times[:: max(every, 1)]
    return times, _runs(placements(result), times)


def _runs(placed: Placements, times: Floats) -> Iterator[tuple[slice, Integers, Integers]]:
    event = np.concatenate([placed.start, placed.end])
    at = np.searchsorted(times, event)
    node = np.concatenate([placed.node, placed.node])
    change = np.repeat([1, -1], len(placed.node)).astype(np.int32)
    order = np.argsort(at, kind="stable")
    at, node, change = at[order], node[order], change[order]
    there = np.zeros(placed.nodes, np.int32)
    length = max(1, _CELLS // max(placed.nodes, 1))
    for low in range(0, len(times), length):
        part = slice(low, min(low + length, len(times)))
        events = slice(*np.searchsorted(at, [part.start, part.stop]))
        jobs = np.zeros((part.stop - part.start, placed.nodes), np.int32)
        np.add.at(jobs, (at[events] - low, node[events]), change[events])
        jobs[0] += there
        np.cumsum(jobs, axis=0, out=jobs)
        there = jobs[-1].copy()
        # A run begins where a free node follows one that is not, and ends where one that is not follows.
        free = np.zeros((len(jobs), placed.nodes + 2), np.int8)
        free[:, 1:-1] = jobs == 0
        turns = np.diff(free, axis=1)
        row, first = np.nonzero(turns == 1)
        yield part, row, np.nonzero(turns == -1)[1] - first


Part: TypeAlias = Literal["nodes", "jobs"]

_LABELS: dict[Part, str] = {"nodes": "free nodes", "jobs": "running jobs"}


@plot
def free_nodes(
    results: Results,
    *,
    ax: Axes | None = None,
    of: Part | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the number of free nodes and of running jobs over time (Fig. 2 of [1]).

    Nodes that are drained or asleep are free if they have no job. More than two results have a row each, with
    the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    of
        ``"nodes"`` or ``"jobs"`` [default: both for one result, and the nodes for several].

    Raises
    ------
    ResultError
        If the part is unknown, or the window is not a duration.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    found = groups(results)
    if of is not None:
        choice("of", of, _LABELS)
    parts: Sequence[Part] = [of] if of is not None else [*_LABELS] if len(found) == 1 else ["nodes"]
    label = "number" if len(parts) > 1 else _LABELS[parts[0]]
    lines = [
        _line(group, part, place if len(found) == 1 else index, several=len(found) > 1)
        for index, group in enumerate(found)
        for place, part in enumerate(parts)
    ]
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, Values(label), window=window, clock=clock_of_groups(found), lanes="compared")


def _line(group: Group, part: Part, number: int, *, several: bool) -> Line:
    courses = tuple(_free(each) if part == "nodes" else _running(each) for each in group.schedules)
    return Line(group.label if several else _LABELS[part], courses, number)


def _running(result: Result) -> Steps:
    table = steps_of(result)
    return Steps(table["time"].to_numpy(), table["running"].to_numpy().astype(np.float64))


def _free(result: Result) -> Steps:
    """Count the nodes without jobs at each instant of the timeline."""
    table = steps_of(result)
    if table.is_empty():
        return Steps(np.zeros(0), np.zeros(0))
    times = table["time"].to_numpy()
    begins, ends = _busy(placements(result))
    changes = np.zeros(len(times))
    for instants, change in ((begins, -1), (ends, 1)):
        at = np.searchsorted(times, instants).clip(max=len(times) - 1)
        changes += change * np.bincount(at, minlength=len(times))
    return Steps(times, result.system.nodes + np.cumsum(changes))


def _busy(placed: Placements) -> tuple[Floats, Floats]:
    """Return the beginnings and ends of the times in which nodes have jobs; linear in the placements."""
    if not len(placed.node):
        return np.zeros(0), np.zeros(0)
    # A stable sort of small integers takes one or two passes.
    order = np.argsort(placed.node.astype(np.min_scalar_type(placed.nodes)), kind="stable")
    start, end = placed.start[order], placed.end[order]
    # The times of each node are shifted beyond those of the previous one: the latest end so far is of the
    # node.
    shift = placed.node[order] * (1.0 + float(end.max()) - float(start.min()))
    latest = np.maximum.accumulate(end + shift)
    # If a job follows another at one instant, the node is not free in between.
    first = np.flatnonzero(np.append(True, (start + shift)[1:] > latest[:-1]))
    return start[first], np.maximum.reduceat(end, first)


_FACTOR = 4


@plot
def free_slots(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the free nodes over time in slots of neighbours, by the size of the slot.

    A slot is a run of free nodes with neighbouring numbers. A job that needs many neighbouring nodes can
    start only in a wide slot. The total is that of `free_nodes`.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.

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
        return annotate(ax, "nothing happened")
    edges = windows(float(times[0]), float(times[-1]))
    courses = {
        label: means_over(Steps(times, nodes), edges)
        for label, nodes in zip(widths, held, strict=True)
        if nodes.any()
    }
    if not courses:
        return annotate(ax, "no node was ever free")
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


@plot
def fragmentation(
    results: Results,
    *,
    ax: Axes | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the fragmentation of free nodes over time: 1 − Σ f² / (Σ f)², as in [1].

    Here f are the lengths of the runs of free nodes with neighbouring numbers; a node is free if it has no
    job. The measure is 0 if all free nodes are neighbours, or none is free, and approaches 1 if each is
    isolated.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. More than two results have a row each, with the first in grey for comparison.

    Raises
    ------
    ResultError
        If there is no result, or the window is not a duration.

    References
    ----------
    [1] J. Gehr and J. Schneider, "Measuring fragmentation of two-dimensional resources applied to advance
    reservation grid scheduling", CCGrid 2009. There, f are the lengths of free times.
    """
    found = groups(results)
    lines = [
        Line(group.label, tuple(map(_course, group.schedules)), index) for index, group in enumerate(found)
    ]
    ax = begin(ax, title=title, size=size_of(len(lines)))
    values = Values("fragmentation of free nodes", top=1.0)
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")


def _course(result: Result) -> Steps:
    times, runs = free_runs(result)
    scattered = np.zeros(len(times))
    for part, at, length in runs:
        count = part.stop - part.start
        free = np.bincount(at, length, count)
        squares = np.bincount(at, length.astype(np.float64) ** 2, count)
        scattered[part] = np.where(free > 0, 1 - squares / np.maximum(free, 1) ** 2, 0.0)
    return Steps(times, scattered)
