"""The waiting time of all jobs, split by the use of the machine meanwhile (S29), and by gates (S15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from batchlab.core.rules import is_finite
from batchlab.core.units import Durations, format_duration
from batchlab.core.vocabulary import GATES, JOB_STATES, WAIT_SPLITS, WaitSplit
from batchlab.errors import ResultError, shown, suggest
from batchlab.result.recorded import FREE_NODES, HELD_BY
from batchlab.result.why.capacity import capacity_of
from batchlab.result.why.overtakers import Dominance
from batchlab.result.why.wait import Wait
from batchlab.workload.columns import size_classes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab.result.why.runs import Floats, Whole
    from batchlab.result.why.scope import Mask
    from batchlab.result.why.wait import Waits

__all__ = [
    "LIMIT_PREFIX",
    "OWN_RUN",
    "PARTS",
    "longest_waits",
    "parts_of_gates",
    "parts_of_waits",
    "subject_of_gate",
    "waited",
    "waiting_time",
]

OWN_RUN = "own_run"
LIMIT_PREFIX = "limit_"
_MOST_PERIODS = 100_000

PARTS = ("own_run", "running", "before", "overtook", "unavailable", "idle")
"""The parts of a wait: the holders of S29, with one for all idle units."""


def waiting_time(
    run: Waits, jobs: pl.DataFrame, by: str | None, *, of: WaitSplit = "holders", every: float | None = None
) -> pl.DataFrame:
    """Split the waiting time of all jobs, by a column of the jobs and over time.

    Parameters
    ----------
    run
        The waits of the run.
    jobs
        The table of jobs of the result.
    by
        A column, or ``"size"``: classes of tasks, each up to twice the previous one. None: all jobs together.
    of
        The account whose parts are the columns.
    every
        The length of the periods of time, seconds; None for the whole run.

    Returns
    -------
    polars.DataFrame
        One row per group, or per period and group: ``start_time`` and ``end_time`` (s) of the period, the
        name of the group under `by` (``"all"`` for None), ``jobs`` (the number of jobs that waited), ``wait``
        and each part (s; they add up to ``wait``).

    Raises
    ------
    ResultError
        If there is no such column or account, `every` is no duration, or gates were not recorded.
    """
    if of not in WAIT_SPLITS:
        raise ResultError(
            f"of = {shown(of)}; must be one of {', '.join(WAIT_SPLITS)}.{suggest(str(of), WAIT_SPLITS)}"
        )
    edges = None if every is None else _edges(run, every)
    parts = parts_of_waits(run, edges) if of == "holders" else parts_of_gates(run, of, edges)
    name = by or "all"
    groups = pl.lit("all") if by is None else _groups(jobs, by)[parts["row"]]
    names = [each for each in parts.columns if each not in {"job_id", "row", "period", "wait"}]
    keys = [name] if edges is None else ["period", name]
    table = (
        parts.with_columns(groups.alias(name))
        .group_by(keys, maintain_order=True)
        .agg(pl.len().alias("jobs"), pl.col("wait", *names).sum())
    )
    if edges is None:
        return table if by is None else table.sort(name, nulls_last=True)
    table = table.sort("period", name, nulls_last=True)
    period = table["period"].to_numpy()
    times = pl.Series("start_time", edges[period]), pl.Series("end_time", edges[period + 1])
    return table.select(*times, pl.exclude("period"))


def _edges(run: Waits, every: float) -> Floats:
    """Return the edges of the periods, from the first submission to the end of the last wait.

    Raises
    ------
    ResultError
        If the length is no duration, or there would be too many periods.
    """
    if not (is_finite(every) and every > 0):
        raise ResultError(f"every = {shown(every)}; must be a duration > 0 s.")
    if not len(run.submit_times):
        return np.array([0.0, every])
    first, last = float(run.submit_times.min()), float(run.ends.max())
    count = int(min(max(np.ceil((last - first) / every), 1), _MOST_PERIODS + 1))
    if count > _MOST_PERIODS:
        rule = f"the waits last {last - first:g} s, and must have at most {_MOST_PERIODS:,} periods"
        raise ResultError(f"every = {shown(every)} s; {rule}.")
    return np.asarray(first + every * np.arange(count + 1))


def _groups(jobs: pl.DataFrame, by: str) -> pl.Series:
    if by == "size":
        return pl.Series("size", size_classes(jobs))
    known = [name for name, kind in jobs.schema.items() if not kind.is_nested()]
    if by not in known:
        raise ResultError(f"by = {shown(by)}; must be 'size' or a column of the jobs.{suggest(by, known)}")
    return jobs[by]


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Intervals cut at the edges of periods: the interval, the period, and the times of each part."""

    owner: Whole
    period: Whole
    begin: Floats
    end: Floats


def _cut(begin: Floats, end: Floats, edges: Floats | None) -> _Cuts:
    """Cut intervals of some length at edges that reach from before the first to behind the last."""
    every = np.arange(len(begin))
    if edges is None:
        return _Cuts(every, np.zeros(len(begin), np.int64), begin, end)
    first = np.searchsorted(edges, begin, "right") - 1
    counts = np.searchsorted(edges, end, "left") - first
    owner = np.repeat(every, counts)
    offsets = np.cumsum(counts) - counts
    period = first[owner] + np.arange(len(owner)) - offsets[owner]
    begins, ends = np.maximum(edges[period], begin[owner]), np.minimum(edges[period + 1], end[owner])
    return _Cuts(owner, period, begins, ends)


def _waiting_rows(run: Waits) -> Whole:
    """Return the rows of the jobs that waited."""
    states = np.isin(run.outcome.state, [JOB_STATES.index(each) for each in ("rejected", "loaded")])
    return np.flatnonzero(~states & (run.ends > run.submit_times))


def longest_waits(run: Waits) -> pl.DataFrame:
    """List the jobs that waited, the longest wait first. Jobs that never started are among them.

    Parameters
    ----------
    run
        The waits of the run.

    Returns
    -------
    polars.DataFrame
        By wait, and equal waits by row: ``job_id`` (Int64), ``row`` (UInt32), ``tasks``, ``submit_time``
        and ``wait`` (Float64, s), and ``never_started`` (Boolean).
    """
    rows = _waiting_rows(run)
    submitted = run.submit_times[rows]
    return pl.DataFrame(
        {
            "job_id": run.job_ids.gather(rows),
            "row": pl.Series(rows, dtype=pl.UInt32),
            "tasks": run.result.workload.jobs["tasks"].gather(rows),
            "submit_time": submitted,
            "wait": run.ends[rows] - submitted,
            "never_started": np.isnan(run.outcome.start_time[rows]),
        }
    ).sort("wait", descending=True, maintain_order=True)


def waited(row: Mapping[str, Any]) -> str:
    """Write the wait of a row of `longest_waits`, and mark a job that never started."""
    text = format_duration(row["wait"])
    return Durations(text, ", never started") if row["never_started"] else text


def _framed(
    run: Waits, waits: tuple[Whole, _Cuts], edges: Floats | None, columns: Mapping[str, Floats]
) -> pl.DataFrame:
    """Return the table of the parts of waits, or of their cuts."""
    rows, cuts = waits
    own = rows[cuts.owner]
    return pl.DataFrame(
        [
            run.job_ids.gather(own),
            pl.Series("row", own.astype(np.uint32)),
            *(() if edges is None else (pl.Series("period", cuts.period),)),
            pl.Series("wait", cuts.end - cuts.begin),
            *(pl.Series(name, values) for name, values in columns.items()),
        ]
    )


def parts_of_waits(run: Waits, edges: Floats | None = None) -> pl.DataFrame:
    """Split the wait of each job that waited. O(n log² n) for n runs on each set of nodes.

    Parameters
    ----------
    run
        The waits of the run.
    edges
        The edges of periods at which waits are cut; None for whole waits.

    Returns
    -------
    polars.DataFrame
        By row and period: ``job_id`` (Int64), ``row`` (UInt32), ``period`` (Int64, if there are edges),
        ``wait`` and each of `PARTS` (Float64, s).
    """
    if edges is not None:
        return _parts_of_waits(run, edges)
    if run.split is None:
        run.split = _parts_of_waits(run, None)
    return run.split


def _parts_of_waits(run: Waits, edges: Floats | None) -> pl.DataFrame:
    rows = _waiting_rows(run)
    cuts = _cut(run.submit_times[rows], run.ends[rows], edges)
    parts = np.zeros((len(cuts.owner), len(PARTS)))
    alone = _alone(run, rows)
    begins = np.searchsorted(cuts.owner, np.arange(len(rows) + 1))
    for place in np.flatnonzero(alone).tolist():
        own = slice(begins[place], begins[place + 1])
        parts[own] = _one(run, int(rows[place]), cuts.begin[own], cuts.end[own])
    together = np.flatnonzero(~alone[cuts.owner])
    for same in _classes(run, rows, cuts.owner[together]):
        chosen = together[same]
        parts[chosen] = _of_class(run, rows[cuts.owner[chosen]], cuts.begin[chosen], cuts.end[chosen])
    columns = {name: parts[:, place] for place, name in enumerate(PARTS)}
    return _framed(run, (rows, cuts), edges, columns)


def parts_of_gates(run: Waits, of: Literal["gates", "limits"], edges: Floats | None = None) -> pl.DataFrame:
    """Split the wait of each job that waited by its gates (S15). O(rows of gates × periods of each).

    Parameters
    ----------
    run
        The waits of the run, which recorded gates.
    of
        ``"gates"``: a part for each gate, and `OWN_RUN`. ``"limits"``: a part for each limit, and ``other``.
    edges
        As for `parts_of_waits`.

    Returns
    -------
    polars.DataFrame
        As `parts_of_waits` returns it.

    Raises
    ------
    ResultError
        If gates were not recorded.
    """
    gates = run.result.gates
    rows = _waiting_rows(run)
    names, part = _parts_by_gate(gates) if of == "gates" else _parts_by_limit(run, gates)
    place = np.full(len(run.submit_times), -1)
    place[rows] = np.arange(len(rows))
    row = gates["row"].to_numpy()
    until = run.ends[row]
    begin, end = gates["start"].to_numpy(), np.minimum(gates["end"].fill_null(np.inf).to_numpy(), until)
    used = np.flatnonzero((place[row] >= 0) & (end > begin))
    waits = _cut(run.submit_times[rows], run.ends[rows], edges)
    cuts = _cut(begin[used], end[used], edges)
    # A wait has its periods one after the other, so that the place of a cut is known.
    firsts = np.searchsorted(waits.owner, np.arange(len(rows)))
    owner = place[row[used[cuts.owner]]]
    at = firsts[owner] + cuts.period - waits.period[firsts[owner]] if len(rows) else owner
    seconds = np.zeros((len(waits.owner), len(names)))
    np.add.at(seconds, (at, part[used[cuts.owner]]), cuts.end - cuts.begin)
    rest = (waits.end - waits.begin) - seconds.sum(axis=1)
    columns = {name: seconds[:, index] for index, name in enumerate(names)}
    columns |= {names[-1]: columns[names[-1]] + rest}
    return _framed(run, (rows, waits), edges, columns)


def subject_of_gate() -> pl.Expr:
    """Return what a gate is about: its subject, or the parameter that stopped a call of the controller."""
    stop = pl.when(pl.col("gate") == "not_looked_at").then("detail")
    return pl.coalesce("subject", stop).alias("subject")


def words_of_gate(gate: str, subject: str | None, detail: str | None) -> tuple[str, str, str]:
    """Return the words for a gate: its name, what it is about, and what uses the nodes; both may be empty.

    Parameters
    ----------
    gate, subject, detail
        As in `Result.gates`.
    """
    used_by = (detail or "") if gate == "resources" else ""
    about = subject or ((detail or "") if gate == "not_looked_at" else "")
    if gate == "resources" and not about and used_by not in FREE_NODES:
        about = "shape"
    if about and gate in {"order", "would_delay", "promised"}:
        about = f"job {about}"
    return gate.replace("_", " "), about, used_by


def _parts_by_gate(gates: pl.DataFrame) -> tuple[list[str], Whole]:
    """Return the names of the parts, and the part of each row: gates, `resources` by whom they were held."""
    names = [
        name
        for gate in GATES
        for name in ([f"{gate}_{held}" for held in HELD_BY] if gate == "resources" else [gate])
    ]
    held = pl.when(pl.col("gate") == "resources").then(pl.concat_str("gate", pl.lit("_"), "detail"))
    part = gates.select(held.otherwise(pl.col("gate").cast(pl.String)).cast(pl.Enum(names)).to_physical())
    return [*names, OWN_RUN], part.to_series().to_numpy().astype(np.int64)


def _parts_by_limit(run: Waits, gates: pl.DataFrame) -> tuple[list[str], Whole]:
    """Return the names of the parts, and the part of each row: the limits of the system, and all else."""
    limits = [limit.name for limit in run.result.system.limits]
    subject = pl.when(pl.col("gate") == "limit").then("subject").cast(pl.Enum(limits)).to_physical()
    part = gates.select(subject.cast(pl.Int64).fill_null(len(limits))).to_series().to_numpy()
    return [*(f"{LIMIT_PREFIX}{name}" for name in limits), "other"], part


def _alone(run: Waits, rows: Whole) -> Mask:
    """Return which jobs ran during their wait, or changed their size."""
    pieces = np.bincount(run.pieces.row, minlength=len(run.submit_times))[rows]
    waits_again = np.isnan(run.outcome.start_time[rows])
    return np.asarray((pieces > 1) | (pieces == 1) & waits_again)


def _one(run: Waits, row: int, begins: Floats, ends: Floats) -> Floats:
    """Split one wait that is cut into parts."""
    capacity = capacity_of(Wait(run, row, float(run.submit_times[row]), float(run.ends[row])))
    course = capacity.course.with_columns(idle=pl.col("idle") + pl.col("idle_enough"))
    times = np.append(course["start_time"].to_numpy(), ends[-1]) - begins[0]
    units = course.select(PARTS).to_numpy() * np.diff(times)[:, None]
    until = np.vstack([np.zeros(len(PARTS)), np.cumsum(units, axis=0)])
    at = np.append(begins, ends[-1]) - begins[0]
    found = np.stack([np.interp(at, times, part) for part in until.T], axis=1)
    return np.asarray(np.diff(found, axis=0) / capacity.units)


def _classes(run: Waits, rows: Whole, owner: Whole) -> list[npt.NDArray[np.int64]]:
    """Group parts of waits by the nodes, the reservation and the unit of their jobs."""
    if not len(owner):
        return []
    used, place = np.unique(owner, return_inverse=True)
    keys = np.array([_key(run, row) for row in rows[used].tolist()], np.int64).reshape(-1, 3)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()[place.ravel()]
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _key(run: Waits, row: int) -> tuple[int, int, int]:
    lists = run.requests.list_of()
    own = 0 if lists is None else int(lists[row])
    if len(run.result.system.resources) == 1:
        return own, run.requests.own_reservation(row), 0
    resource = Wait(run, row, float(run.submit_times[row]), float(run.ends[row])).unit[0]
    return own, run.requests.own_reservation(row), run.result.system.resources.index(resource)


def _of_class(run: Waits, rows: Whole, begins: Floats, ends: Floats) -> Floats:
    """Split parts of the waits of jobs with the same nodes and unit, from when to when."""
    first = int(rows[0])
    wait = Wait(run, first, float(run.submit_times[first]), float(run.ends[first]))
    _, total, _ = wait.unit
    pieces = run.pieces
    held = wait.units_of(np.arange(len(pieces.row)))
    used = np.flatnonzero((held > 0) & (pieces.end > pieces.start))
    # Times count from the first submission: their products with units stay exact.
    origin = float(run.submit_times.min())
    spans = _Spans(pieces.start[used] - origin, pieces.end[used] - origin, held[used].astype(np.float64))
    came, begin, end = run.submit_times[rows] - origin, begins - origin, ends - origin
    place = run.submissions.place
    places = place[pieces.row[used]].astype(np.float64), place[rows].astype(np.float64)
    # The first part of a wait begins where nothing of either has begun.
    later = np.flatnonzero(begin > came)
    meanwhile = spans.within(pieces.began[used] - origin, came, (begin, end), later, inclusive=True)
    overtook = spans.within(*places, (begin, end), later, inclusive=False)
    all_used = spans.until(end) - spans.until(begin)
    closed = _unavailable(run, wait, used, origin)
    unavailable = closed(end) - closed(begin)
    idle = total * (end - begin) - all_used - unavailable
    sums = [np.zeros(len(rows)), all_used - meanwhile, meanwhile - overtook, overtook, unavailable, idle]
    # Differences of products of times that are not whole may be rounded below 0.
    return np.maximum(np.stack(sums, axis=1) / total, 0.0)


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

    def within(
        self, keys: Floats, least: Floats, times: tuple[Floats, Floats], later: Whole, *, inclusive: bool
    ) -> Floats:
        """Return the unit-seconds between times, as `since`; before the first time, only those of `later`."""
        begin, end = times
        both = np.concatenate([end, begin[later]])
        found = self.since(keys, np.concatenate([least, least[later]]), both, inclusive=inclusive)
        found[later] -= found[len(end) :]
        return found[: len(end)]

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
