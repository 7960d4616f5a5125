"""The waiting time of all jobs, split by who had the machine meanwhile (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError, shown, suggest
from batchlab.result.why.capacity import capacity_of
from batchlab.result.why.overtakers import Dominance
from batchlab.result.why.wait import Wait

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.why.runs import Floats, Whole
    from batchlab.result.why.scope import Mask
    from batchlab.result.why.wait import Waits

__all__ = ["PARTS", "parts_of_waits", "waiting_time"]

PARTS = ("own_run", "running", "before", "overtook", "unavailable", "idle")
"""The parts of a wait: the holders of S29, with one for all idle units."""


def waiting_time(run: Waits, jobs: pl.DataFrame, by: str | None) -> pl.DataFrame:
    """Split the waiting time of all jobs, by a column of the jobs.

    Parameters
    ----------
    run
        The waits of the run.
    jobs
        The table of jobs of the result.
    by
        A column, or ``"size"``: classes of tasks, each up to twice the previous one. None: all jobs together.

    Returns
    -------
    polars.DataFrame
        One row per group: its name under `by` (``"all"`` for None), ``jobs`` (the number of jobs that
        waited), ``wait`` and each of `PARTS` (s; they add up to ``wait``).

    Raises
    ------
    ResultError
        If there is no such column.
    """
    parts = parts_of_waits(run)
    names = pl.col(PARTS)
    together = parts.select("row", "wait", names)
    if by is None:
        grouped = together.with_columns(pl.lit("all").alias("all")).group_by("all", maintain_order=True)
    else:
        grouped = together.with_columns(_groups(jobs, by)[parts["row"]].alias(by)).group_by(
            by, maintain_order=True
        )
    table = grouped.agg(pl.len().alias("jobs"), pl.col("wait", *PARTS).sum())
    return table if by is None else table.sort(by, nulls_last=True)


def _groups(jobs: pl.DataFrame, by: str) -> pl.Series:
    if by == "size":
        tasks = jobs["tasks"].to_numpy()
        return pl.Series("size", 2 ** np.ceil(np.log2(tasks)).astype(np.int64))
    known = [name for name, kind in jobs.schema.items() if not kind.is_nested()]
    if by not in known:
        raise ResultError(f"by = {shown(by)}; must be 'size' or a column of the jobs.{suggest(by, known)}")
    return jobs[by]


def parts_of_waits(run: Waits) -> pl.DataFrame:
    """Split the wait of each job that waited. O(n log² n) for n runs on each set of nodes.

    Returns
    -------
    polars.DataFrame
        By row: ``job_id`` (Int64), ``row`` (UInt32), ``wait`` and each of `PARTS` (Float64, s).
    """
    states = np.isin(run.outcome.state, [JOB_STATES.index(each) for each in ("rejected", "loaded")])
    rows = np.flatnonzero(~states & (run.ends > run.submit_times))
    parts = np.zeros((len(rows), len(PARTS)))
    alone = _alone(run, rows)
    for place in np.flatnonzero(alone).tolist():
        parts[place] = _one(run, int(rows[place]))
    together = np.flatnonzero(~alone)
    for same in _classes(run, rows[together]):
        parts[together[same]] = _of_class(run, rows[together[same]])
    columns = {name: parts[:, place] for place, name in enumerate(PARTS)}
    waits = run.ends[rows] - run.submit_times[rows]
    return pl.DataFrame(
        [
            run.job_ids.gather(rows),
            pl.Series("row", rows.astype(np.uint32)),
            pl.Series("wait", waits),
            *(pl.Series(name, values) for name, values in columns.items()),
        ]
    )


def _alone(run: Waits, rows: Whole) -> Mask:
    """Return which jobs ran during their wait, or changed their size."""
    pieces = np.bincount(run.pieces.row, minlength=len(run.submit_times))[rows]
    waits_again = np.isnan(run.outcome.start_time[rows])
    return np.asarray((pieces > 1) | (pieces == 1) & waits_again)


def _one(run: Waits, row: int) -> Floats:
    """Split one wait."""
    wait = Wait(run, row, float(run.submit_times[row]), float(run.ends[row]))
    seconds = dict(capacity_of(wait).table.select("holder", "seconds").iter_rows())
    seconds["idle"] += seconds["idle_enough"]
    return np.array([seconds[name] for name in PARTS])


def _classes(run: Waits, rows: Whole) -> list[npt.NDArray[np.int64]]:
    """Group jobs by their nodes, their reservation and their unit."""
    keys = np.array([_key(run, row) for row in rows.tolist()], np.int64).reshape(-1, 3)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    cuts = np.flatnonzero(np.diff(group.ravel()[order])) + 1
    return np.split(order, cuts) if len(rows) else []


def _key(run: Waits, row: int) -> tuple[int, int, int]:
    lists = run.requests.list_of()
    own = 0 if lists is None else int(lists[row])
    if len(run.result.system.resources) == 1:
        return own, run.requests.own_reservation(row), 0
    resource = Wait(run, row, float(run.submit_times[row]), float(run.ends[row])).unit[0]
    return own, run.requests.own_reservation(row), run.result.system.resources.index(resource)


def _of_class(run: Waits, rows: Whole) -> Floats:
    """Split the waits of jobs with the same nodes and unit."""
    first = int(rows[0])
    wait = Wait(run, first, float(run.submit_times[first]), float(run.ends[first]))
    _, total, _ = wait.unit
    pieces = run.pieces
    held = wait.units_of(np.arange(len(pieces.row)))
    used = np.flatnonzero((held > 0) & (pieces.end > pieces.start))
    # Times count from the first submission: their products with units stay exact.
    origin = float(run.submit_times.min())
    spans = _Spans(pieces.start[used] - origin, pieces.end[used] - origin, held[used].astype(np.float64))
    begin, end = run.submit_times[rows] - origin, run.ends[rows] - origin
    meanwhile = spans.since(pieces.began[used] - origin, begin, end, inclusive=True)
    place = run.submissions.place
    overtook = spans.since(
        place[pieces.row[used]].astype(np.float64), place[rows].astype(np.float64), end, inclusive=False
    )
    all_used = spans.until(end) - spans.until(begin)
    closed = _unavailable(run, wait, used, origin)
    unavailable = closed(end) - closed(begin)
    idle = total * (end - begin) - all_used - unavailable
    sums = [np.zeros(len(rows)), all_used - meanwhile, meanwhile - overtook, overtook, unavailable, idle]
    return np.stack(sums, axis=1) / total


@dataclass(frozen=True, eq=False)
class _Spans:
    """Units over time: each span has its units from its start to its end."""

    start: Floats
    end: Floats
    units: Floats

    @property
    def _weights(self) -> Floats:
        return np.stack([self.units, self.units * self.start, self.units * self.end], axis=1)

    def until(self, times: Floats) -> Floats:
        """Return the unit-seconds of all spans before times."""
        zeros = np.zeros(len(self.start))
        return self.since(zeros, np.zeros(len(times)), times, inclusive=True)

    def since(self, keys: Floats, least: Floats, times: Floats, *, inclusive: bool) -> Floats:
        """Return the unit-seconds before times, of spans whose key is above a least one, or equal to it."""
        order = np.argsort(keys, kind="stable")
        counts = np.searchsorted(keys[order], least, "left" if inclusive else "right")
        weights = self._weights[order]
        # A going-on span has an infinite end, which is never before a time.
        weights[~np.isfinite(weights)] = 0.0
        begun = _from(Dominance(self.start[order], weights[:, :2]), counts, times)
        over = _from(Dominance(self.end[order], weights), counts, times)
        # Of a span that began, its units × (time − start); of one that is over, less units × (time − end).
        return np.asarray(times * (begun[:, 0] - over[:, 0]) - begun[:, 1] + over[:, 2])


def _from(points: Dominance, counts: Whole, bounds: Floats) -> Floats:
    """Add up the weights of the points from a place on with values below bounds."""
    all_of_them = np.full(len(counts), points.count)
    return points.sums(all_of_them, bounds, inclusive=False) - points.sums(counts, bounds, inclusive=False)


class _Integral:
    """The integral of a step function from its first time on."""

    def __init__(self, times: Floats, changes: Floats) -> None:
        order = np.argsort(times, kind="stable")
        self._times, changes = times[order], changes[order]
        self._level = np.concatenate([[0.0], np.cumsum(changes)])
        self._moment = np.concatenate([[0.0], np.cumsum(changes * self._times)])

    def __call__(self, times: Floats) -> Floats:
        """Return the integral until times."""
        place = np.searchsorted(self._times, times, "right")
        return np.asarray(self._level[place] * times - self._moment[place])


def _unavailable(run: Waits, wait: Wait, used: Whole, origin: float) -> _Integral:
    """Return the units on unavailable nodes that no job holds, over time."""
    own = run.requests.own_reservation(wait.row)
    last = max(float(run.ends.max(initial=origin)), origin)
    spans = run.unavailable.spans(origin, last, own)
    times, changes = [np.empty(0)], [np.empty(0)]
    if spans:
        owner, node, units = wait.units_on_nodes(used)
        order = np.argsort(node, kind="stable")
        owner, node, units = used[owner[order]], node[order], units[order]
        for each in np.flatnonzero(
            np.logical_or.reduce([nodes for nodes, _, _ in spans]) & wait.nodes
        ).tolist():
            here = slice(*np.searchsorted(node, [each, each + 1]))
            closed = [(first, until) for nodes, first, until in spans if nodes[each]]
            begins, ends = run.pieces.start[owner[here]], np.minimum(run.pieces.end[owner[here]], last)
            at, change = _free_while_closed(wait.capacity_of_node(each), closed, (begins, ends, units[here]))
            times.append(at - origin)
            changes.append(change)
    return _Integral(np.concatenate(times), np.concatenate(changes))


def _free_while_closed(
    capacity: int, closed: list[tuple[float, float]], held: tuple[Floats, Floats, Whole]
) -> tuple[Floats, Floats]:
    """Return the changes of the free units of a node while it is closed."""
    begins, ends, units = held
    edges = np.array(closed)
    times = np.unique(np.concatenate([edges.ravel(), begins, ends]))
    is_closed, free = np.zeros(len(times)), np.zeros(len(times))
    np.add.at(is_closed, np.searchsorted(times, edges[:, 0]), 1)
    np.add.at(is_closed, np.searchsorted(times, edges[:, 1]), -1)
    np.add.at(free, np.searchsorted(times, begins), -units)
    np.add.at(free, np.searchsorted(times, ends), units)
    level = np.where(np.cumsum(is_closed) > 0, capacity + np.cumsum(free), 0.0)
    return times, np.diff(level, prepend=0.0)
