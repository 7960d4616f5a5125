"""When nodes were idle, busy, closed, asleep or changing state, and what jobs held there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.result.table import cut_since, since
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.service_intervals import RunRecord

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

__all__ = ["BUSY", "CLOSED", "IDLE", "Holdings", "NodeModes", "holdings_of", "modes_of", "on_since"]

IDLE, BUSY, CLOSED = range(3)
"""The modes of a node that is on; in power state k > 0 its mode is k + 2, even if jobs hold it."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """Amounts that jobs held on nodes, and when; shape (holdings,).

    Parameters
    ----------
    row, node
        The numbers of the job and of the node.
    start, end
        Seconds; the end is now if the job still runs.
    units
        The amounts of each resource, shape (holdings, resources + 1); the last column has tasks.
    """

    row: Numbers
    node: Numbers
    start: Floats
    end: Floats
    units: Floats


@dataclass(frozen=True, eq=False)
class NodeModes:
    """The intervals in which a node was in one mode and jobs held the same there; shape (intervals,).

    Parameters
    ----------
    node, mode
        Of each interval.
    start, end
        Seconds.
    units
        The amounts of each resource that jobs held, shape (intervals, resources + 1); the last column has
        tasks.
    """

    node: Numbers
    mode: Numbers
    start: Floats
    end: Floats
    units: Floats


def holdings_of(run: RunRecord) -> Holdings:
    """Return what jobs held on nodes, for each interval in which they kept the same nodes."""
    outcome = run.outcome
    rows = np.arange(len(outcome.state))
    ends = np.where(np.isnan(outcome.end_time), outcome.now, outcome.end_time)
    placed = outcome.placement_offsets, outcome.placement_nodes, outcome.placement_tasks
    parts = [_spread(run, rows, (since(outcome), ends), placed, outcome.allocated)]
    for log, starts in (
        (outcome.tables.get("interruptions"), cut_since(outcome)),
        (outcome.tables.get("resizes"), None),
    ):
        if log is not None and len(log["row"]):
            placed = log["placement_offsets"], log["placement_nodes"], log["placement_tasks"]
            begin = log["start_time"] if starts is None else starts
            parts.append(_spread(run, log["row"], (begin, log["end_time"]), placed, log["allocated"]))
    row, node, start, end, units = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Holdings(row, node, start, end, units)


def _spread(
    run: RunRecord,
    row: npt.NDArray[np.integer],
    times: tuple[Floats, Floats],
    placed: tuple[Numbers, npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    held: Numbers,
) -> tuple[Numbers, Numbers, Floats, Floats, Floats]:
    """List a holding for each node of each placement."""
    offsets, nodes, tasks = placed
    owner = np.repeat(np.arange(len(row)), np.diff(offsets))
    of_job, node = row[owner].astype(np.int64), nodes.astype(np.int64)
    total = np.bincount(owner, tasks, len(row))
    units = np.empty((len(owner), len(run.system.resources) + 1))
    units[:, -1] = tasks
    is_whole = np.zeros(len(owner), np.bool_)
    for place, amount in enumerate(amounts(run.workload, run.system)):
        per_task = np.broadcast_to(np.asarray(amount, np.float64), len(run.outcome.state))
        units[:, place] = tasks * per_task[of_job]
        # A job on exclusive nodes holds more than its tasks ask for.
        is_whole |= (held[:, place] != total * per_task[row])[owner]
    units[is_whole, :-1] = run.system.capacity[node[is_whole]]
    return of_job, node, times[0][owner], times[1][owner], units


def on_since(run: RunRecord, held: Holdings) -> Floats:
    """Return when the node of each holding was on: from the start, or from when it had woken; seconds."""
    log = run.outcome.tables.get("power_states")
    if log is None:
        return held.start
    order = np.lexsort((np.arange(len(log["time"])), log["time"], log["node"]))
    time, node, is_on = log["time"][order], log["node"][order].astype(np.int64), log["state"][order] == 0
    # The first entry from each on at which its node is on; a node that is not on again has none.
    place = np.where(is_on, np.arange(len(time)), len(time))
    following = np.minimum.accumulate(place[::-1])[::-1]
    instants = np.unique(np.concatenate([time, held.start]))
    width = len(instants)
    known = node * width + np.searchsorted(instants, time)
    asked = held.node * width + np.searchsorted(instants, held.start)
    latest = np.searchsorted(known, asked, "right") - 1
    then = following[np.maximum(latest, 0)]
    is_there = (then < len(time)) & (node[np.minimum(then, len(time) - 1)] == held.node)
    began = np.where(is_there, time[np.minimum(then, len(time) - 1)], held.end)
    return np.minimum(np.maximum(began, held.start), held.end)


def modes_of(run: RunRecord, begin: float, end: float) -> NodeModes:
    """Return the modes of all nodes from one time to another. O(n log n), n holdings and changes of nodes."""
    holdings, nodes = holdings_of(run), run.system.nodes
    times, places = [np.full(nodes, begin)], [np.arange(nodes)]
    jobs, units = [np.zeros(nodes)], [np.zeros((nodes, holdings.units.shape[1]))]
    marks = [np.zeros((nodes, 2))]
    for time, sign in ((holdings.start, 1.0), (holdings.end, -1.0)):
        times.append(np.clip(time, begin, end))
        places.append(holdings.node)
        jobs.append(np.full(len(time), sign))
        units.append(sign * holdings.units)
        marks.append(np.full((len(time), 2), np.nan))
    for column, (time, node, value) in enumerate(_changes(run)):
        times.append(np.clip(time, begin, end))
        places.append(node.astype(np.int64))
        jobs.append(np.zeros(len(time)))
        units.append(np.zeros((len(time), holdings.units.shape[1])))
        mark = np.full((len(time), 2), np.nan)
        mark[:, column] = value
        marks.append(mark)
    when, where = np.concatenate(times), np.concatenate(places)
    order = np.lexsort((when, where))
    when, where = when[order], where[order]
    present = np.cumsum(np.concatenate(jobs)[order])
    held = np.cumsum(np.concatenate(units)[order], axis=0)
    closed, state = _filled(np.concatenate(marks)[order])
    # The values after an instant hold until the next of the same node.
    until = np.append(when[1:], end)
    until[np.append(where[1:] != where[:-1], True)] = end
    mode = np.where(np.rint(present) > 0, BUSY, np.where(closed > 0, CLOSED, IDLE))
    mode = np.where(state > 0, state + CLOSED, mode).astype(np.int64)
    lasts = until > when
    held[mode > CLOSED] = 0.0
    return NodeModes(where[lasts], mode[lasts], when[lasts], until[lasts], held[lasts])


def _changes(run: RunRecord) -> list[tuple[Floats, npt.NDArray[np.integer], npt.NDArray[np.generic]]]:
    """List when nodes closed and opened, and when their power states changed."""
    closures, states = run.outcome.tables.get("closures"), run.outcome.tables.get("power_states")
    nothing = np.empty(0), np.empty(0, np.uint32), np.empty(0)
    closed = nothing if closures is None else (closures["time"], closures["node"], closures["closed"])
    asleep = nothing if states is None else (states["time"], states["node"], states["state"])
    return [closed, asleep]


def _filled(marks: Floats) -> Floats:
    """Carry the last value of each column forward; the first entry of each node has a value."""
    filled = []
    for column in marks.T:
        last = np.maximum.accumulate(np.where(np.isnan(column), 0, np.arange(len(column))))
        filled.append(column[last])
    return np.stack(filled)
