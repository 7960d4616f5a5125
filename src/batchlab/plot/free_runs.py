"""Runs of neighbouring nodes that are free, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.plot.placement import placements
from batchlab.plot.results import steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from batchlab.plot.placement import Placements
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["free_runs"]

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
    for begin in range(0, len(times), length):
        part = slice(begin, min(begin + length, len(times)))
        events = slice(*np.searchsorted(at, [part.start, part.stop]))
        jobs = np.zeros((part.stop - part.start, placed.nodes), np.int32)
        np.add.at(jobs, (at[events] - begin, node[events]), change[events])
        jobs[0] += there
        np.cumsum(jobs, axis=0, out=jobs)
        there = jobs[-1].copy()
        # A run begins where a free node follows one that is not, and ends where one that is not follows.
        free = np.zeros((len(jobs), placed.nodes + 2), np.int8)
        free[:, 1:-1] = jobs == 0
        turns = np.diff(free, axis=1)
        row, first = np.nonzero(turns == 1)
        yield part, row, np.nonzero(turns == -1)[1] - first
