"""Plot of the numbers of free nodes and of running jobs over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from batchlab.plot.canvas import begin, choice
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.placement import placements
from batchlab.plot.results import Results, clock_of_groups, groups, steps_of
from batchlab.plot.values import Values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.placement import Placements
    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["free_nodes"]

Part: TypeAlias = Literal["nodes", "jobs"]

_LABELS: dict[Part, str] = {"nodes": "free nodes", "jobs": "running jobs"}


def free_nodes(
    results: Results,
    *,
    ax: Axes | None = None,
    of: Part | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the number of nodes that no job holds, and of running jobs, over time (Fig. 2 of [1]).

    Nodes that are drained or asleep are free if they have no job. More than two results have a row each, with
    the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    ax
        The axes [default: new axes].
    of
        ``"nodes"`` or ``"jobs"`` [default: both for one result, and the nodes for several].
    window
        Seconds over which means are taken; 0 for none [default: chosen by the number of steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

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
