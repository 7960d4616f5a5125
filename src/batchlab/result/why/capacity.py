"""Account B of a wait: use of the machine meanwhile (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from batchlab.result.why.runs import Floats, Whole
    from batchlab.result.why.scope import Mask, Span
    from batchlab.result.why.wait import Wait

__all__ = ["HOLDERS", "HOLDER_TITLES", "Capacity", "capacity_of"]

HOLDERS = ("own_run", "running", "before", "overtook", "unavailable", "idle_enough", "idle")
"""Who may have a unit of the machine while a job waits, in the order of the specification."""

HOLDER_TITLES = {
    "own_run": "its own earlier runs",
    "running": "already running",
    "before": "submitted before it",
    "overtook": "overtook it",
    "unavailable": "nodes not available",
    "idle_enough": "idle, enough in total",
    "idle": "idle, too few for it",
}
"""The names of the holders in texts and pictures."""

_OWN, _RUNNING, _BEFORE, _OVERTOOK, _UNAVAILABLE, _ENOUGH, _IDLE = range(len(HOLDERS))
_KIND = pl.Enum(HOLDERS)


@dataclass(frozen=True, eq=False)
class Capacity:
    """The use of the machine during a wait.

    Parameters
    ----------
    resource
        The resource that is the unit.
    units, asked
        The units on the nodes of the job, and how many it asked for.
    table
        One row per holder, in the order of `HOLDERS`: ``holder`` (Enum), ``unit_seconds``, ``seconds``
        (Float64; they add up to the wait) and ``share`` (Float64; they add up to 1, or are 0 without a wait).
    jobs
        One row per job that held units during the wait, those with most first: ``job_id``, ``row``,
        ``holder``, ``unit_seconds``, ``seconds``, ``start_time``, ``end_time`` (s; of its first and last run
        in the wait; null if it still runs).
    course
        One row per interval of the wait: ``start_time``, ``end_time`` (s), and the units of each holder.
    """

    resource: str
    units: int
    asked: int
    table: pl.DataFrame
    jobs: pl.DataFrame
    course: pl.DataFrame


def capacity_of(wait: Wait) -> Capacity:
    """Split the unit-seconds of a wait. O(k log k) for k pieces of runs in the wait."""
    resource, units, asked = wait.unit
    pieces = wait.pieces.overlapping(wait.begin, wait.end)
    own = wait.pieces.row[pieces] == wait.row
    own_pieces, pieces = pieces[own], pieces[~own]
    held = wait.units_of(pieces)
    # Runs on other nodes only held none of the units.
    pieces, held = pieces[held > 0], held[held > 0]
    begins = np.maximum(wait.pieces.start[pieces], wait.begin)
    ends = np.minimum(wait.pieces.end[pieces], wait.end)
    holder = _holders(wait, pieces)
    spans = wait.unavailable()
    times = _instants(wait, own_pieces, (begins, ends), spans)
    levels = np.zeros((len(HOLDERS), len(times)), np.int64)
    np.add.at(levels, (holder, np.searchsorted(times, begins)), held)
    np.add.at(levels, (holder, np.searchsorted(times, ends)), -held)
    levels = np.cumsum(levels, axis=1)[:, :-1]
    levels[_UNAVAILABLE] = _unavailable(wait, spans, times, pieces)
    idle = units - levels.sum(axis=0)
    levels[_ENOUGH] = np.where(idle >= asked, idle, 0)
    levels[_IDLE] = np.where(idle >= asked, 0, idle)
    levels = _own_runs(wait, own_pieces, times, levels, units)
    table = _table(levels, times, units)
    jobs = _jobs(wait, pieces, own_pieces, (holder, held, begins, ends), (times, units))
    columns = {name: levels[place] for place, name in enumerate(HOLDERS)}
    course = pl.DataFrame({"start_time": times[:-1], "end_time": times[1:], **columns})
    return Capacity(resource, units, asked, table, jobs, course)


def _holders(wait: Wait, pieces: Whole) -> Whole:
    """Return the holder of each piece of another job."""
    rows, submitted = wait.pieces.row[pieces], wait.submit_times
    later = submitted[rows] > wait.begin
    later |= (submitted[rows] == wait.begin) & (rows > wait.row)
    meanwhile = np.where(later, _OVERTOOK, _BEFORE)
    return np.where(wait.pieces.began[pieces] < wait.begin, _RUNNING, meanwhile)


def _instants(wait: Wait, own: Whole, pieces: tuple[Floats, Floats], spans: list[Span]) -> Floats:
    """Return the instants of the wait at which something changes, with its begin and its end."""
    limits = [wait.begin, wait.end, *(time for _, *span in spans for time in span)]
    runs = wait.pieces.start[own], wait.pieces.end[own]
    times = np.concatenate([limits, *pieces, *runs])
    return np.unique(np.clip(times, wait.begin, wait.end))


def _unavailable(wait: Wait, spans: list[Span], times: Floats, pieces: Whole) -> Whole:
    """Return the units on unavailable nodes that no job holds, in each interval."""
    found = np.zeros(len(times) - 1, np.int64)
    if not spans:
        return found
    closed: dict[int, Mask] = {}
    for nodes, begin, end in spans:
        first, last = np.searchsorted(times, [begin, end]).tolist()
        for number in np.flatnonzero(nodes & wait.nodes).tolist():
            closed.setdefault(number, np.zeros(len(found), np.bool_))[first:last] = True
    owner, node, units = wait.units_on_nodes(pieces)
    begins = np.searchsorted(times, np.maximum(wait.pieces.start[pieces], wait.begin))[owner]
    ends = np.searchsorted(times, np.minimum(wait.pieces.end[pieces], wait.end))[owner]
    order = np.argsort(node, kind="stable")
    for each, is_closed in closed.items():
        here = order[slice(*np.searchsorted(node[order], [each, each + 1]))]
        held = np.zeros(len(times), np.int64)
        np.add.at(held, begins[here], units[here])
        np.add.at(held, ends[here], -units[here])
        free = wait.capacity_of_node(each) - np.cumsum(held)[:-1]
        found += np.where(is_closed, free, 0)
    return found


def _own_runs(wait: Wait, own: Whole, times: Floats, levels: Whole, units: int) -> Whole:
    """Assign all units to the job itself in the intervals in which it ran."""
    ran = np.zeros(len(times), np.int64)
    for piece in own.tolist():
        span = np.clip([wait.pieces.start[piece], wait.pieces.end[piece]], wait.begin, wait.end)
        first, last = np.searchsorted(times, span)
        ran[first] += 1
        ran[last] -= 1
    runs = np.cumsum(ran)[:-1] > 0
    levels = np.where(runs, 0, levels)
    levels[_OWN] = np.where(runs, units, 0)
    return levels


def _table(levels: Whole, times: Floats, units: int) -> pl.DataFrame:
    lengths = np.diff(times)
    sums = [_sum(level, lengths) for level in levels]
    total = units * (times[-1] - times[0])
    return pl.DataFrame(
        {
            "holder": pl.Series(HOLDERS, dtype=_KIND),
            "unit_seconds": sums,
            "seconds": [each / units for each in sums],
            "share": [each / total if total else 0.0 for each in sums],
        },
        schema_overrides=dict.fromkeys(("unit_seconds", "seconds", "share"), pl.Float64),
    )


def _sum(level: Whole, lengths: Floats) -> float:
    """Add up units × seconds: exact if all are whole numbers."""
    used = level != 0
    return fsum((level[used] * lengths[used]).tolist())


def _jobs(
    wait: Wait,
    pieces: Whole,
    own: Whole,
    held: tuple[Whole, Whole, Floats, Floats],
    whole: tuple[Floats, int],
) -> pl.DataFrame:
    """List the jobs that held units, without the times in which the job itself ran."""
    holder, units, begins, ends = held
    lengths = ends - begins
    for piece in own.tolist():
        span = wait.pieces.start[piece], wait.pieces.end[piece]
        lengths = lengths - np.maximum(np.minimum(ends, span[1]) - np.maximum(begins, span[0]), 0.0)
    rows = wait.pieces.row[pieces]
    frame = pl.DataFrame(
        {
            "row": rows.astype(np.uint32),
            "holder": holder.astype(np.uint32),
            "unit_seconds": units * lengths,
            "start_time": wait.pieces.began[pieces],
            "end_time": wait.pieces.end[pieces],
        }
    )
    frame = frame.group_by("row", "holder").agg(
        pl.col("unit_seconds").sum(), pl.col("start_time").min(), pl.col("end_time").max()
    )
    frame = frame.filter(pl.col("unit_seconds") > 0).sort("unit_seconds", "row", descending=[True, False])
    names = pl.Series(HOLDERS, dtype=_KIND)
    return frame.select(
        wait.job_ids.gather(frame["row"]).alias("job_id"),
        "row",
        names.gather(frame["holder"]).alias("holder"),
        "unit_seconds",
        (pl.col("unit_seconds") / whole[1]).alias("seconds"),
        "start_time",
        pl.when(pl.col("end_time").is_finite()).then("end_time").alias("end_time"),
    )
