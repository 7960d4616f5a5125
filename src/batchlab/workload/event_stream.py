"""A stream of events: what happened when to jobs, nodes and the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.node_ranges import node_ranges
from batchlab.units import is_finite
from batchlab.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["END_EVENTS", "EVENT_COLUMNS", "JOB_EVENTS", "NODE_EVENTS", "EventStream"]

EVENT_COLUMNS: Mapping[str, type[pl.DataType]] = {
    "time": pl.Float64,
    "event": pl.String,
    "job_id": pl.Int64,
    "nodes": pl.String,
    "value": pl.Float64,
    "jobs": pl.String,
}
"""The columns that external events have, with their types."""

JOB_EVENTS = frozenset(
    {"submit", "cancel", "kill", "end", "requeue", "hold", "release", "requested_time", "priority"}
)
"""The external events that are about a job."""

NODE_EVENTS = frozenset({"drain", "resume", "remove", "add", "down", "up"})
"""Those that are about nodes."""

END_EVENTS = ("completed", "killed", "rejected")
"""The internal events with which a job is over, named as the states that it has then."""

_KINDS = (*EXTERNAL_EVENTS, *INTERNAL_EVENTS)
_EVACUATIONS = ("requeue", "kill")


class EventStream:
    """Events by time; those of one instant in the order in which they were given.

    Parameters
    ----------
    events
        A DataFrame, another stream, or an iterable of mappings, one for each event: ``time`` (s), ``event``
        (its kind; semantics S18), and what this kind needs: ``job_id``; ``nodes``, as ``"0-3,7"`` or a
        list of numbers; ``value`` (a requested_time in seconds, or a priority); of ``down`` ``jobs``:
        ``"kill"``, or ``"requeue"`` unless given. Other keys, such as what a job asks for, ride along.

    Raises
    ------
    WorkloadError
        If an event breaks a rule; the message has its number, counted from 1.

    Examples
    --------
    >>> import batchlab as bl
    >>> stream = bl.EventStream([
    ...     {"time": 20, "event": "down", "nodes": "0", "jobs": "kill"},
    ...     {"time": 5, "event": "cancel", "job_id": 3},
    ... ])
    >>> stream.table["event"].to_list()
    ['cancel', 'down']
    """

    def __init__(self, events: EventStream | pl.DataFrame | Iterable[Mapping[str, object]] = ()) -> None:
        self.table: pl.DataFrame = events.table if isinstance(events, EventStream) else _checked(events)

    @property
    def external(self) -> EventStream:
        """The events that come from outside: all but what a scheduler does, and what follows from that."""
        return self._those(EXTERNAL_EVENTS)

    @property
    def internal(self) -> EventStream:
        """What a scheduler does, and what follows: starts, ends, interruptions, rejections."""
        return self._those(INTERNAL_EVENTS)

    def _those(self, kinds: Iterable[str]) -> EventStream:
        return self.of_table(self.table.filter(pl.col("event").is_in(list(kinds))))

    @classmethod
    def of_table(cls, table: pl.DataFrame) -> EventStream:
        """Make a stream of a table that has the columns of `EVENT_COLUMNS` and is sorted by time."""
        stream = object.__new__(cls)
        stream.table = table
        return stream

    @property
    def jobs(self) -> pl.DataFrame:
        """What became of every job that was submitted: a row for each, by submission.

        Returns
        -------
        polars.DataFrame
            ``job_id``, ``submit_time``, ``state`` (String: "completed", "killed", "rejected"; "running" or
            "queued" where no end stands in the stream), ``start_time`` and ``end_time`` of its last run (s,
            null where there is none), ``nodes`` (String), and what stands with the submission; of
            requested times the last.
        """
        submitted = self.table.filter(pl.col("event") == "submit")
        own = [name for name in submitted.columns if name not in (*EVENT_COLUMNS, "applied")]
        jobs = submitted.select("job_id", pl.col("time").alias("submit_time"), *own)
        if "requested_time" in own:
            jobs = jobs.join(self._changed_requests(), on="job_id", how="left", maintain_order="left")
            jobs = jobs.with_columns(pl.coalesce("_changed", "requested_time").alias("requested_time"))
        for kinds, name in ((("start",), "start_time"), (END_EVENTS, "end_time")):
            last = self.table.filter(pl.col("event").is_in(kinds)).group_by("job_id").last()
            jobs = jobs.join(_renamed(last, name), on="job_id", how="left", maintain_order="left")
        # At one instant an interruption may come before a start or after one: their numbers tell.
        counts = self.table.group_by("job_id").agg(
            (pl.col("event") == "start").sum().alias("_starts"),
            (pl.col("event") == "interrupted").sum().alias("_interruptions"),
        )
        jobs = jobs.join(counts, on="job_id", how="left", maintain_order="left")
        runs = pl.col("_starts") > pl.col("_interruptions")
        state = pl.coalesce("_end", pl.when(runs).then(pl.lit("running")).otherwise(pl.lit("queued")))
        has_run = runs & (pl.col("state") != "rejected")
        return jobs.with_columns(state=state).select(
            "job_id",
            "submit_time",
            "state",
            pl.when(has_run).then("start_time").alias("start_time"),
            pl.when(pl.col("state") != "rejected").then("end_time").alias("end_time"),
            pl.when(has_run).then("nodes").alias("nodes"),
            *own,
        )

    def _changed_requests(self) -> pl.DataFrame:
        """Give the requested_time that each job had at last, where events changed it."""
        changes = self.table.filter(pl.col("event") == "requested_time")
        if "applied" in changes.columns:
            changes = changes.filter(pl.col("applied").fill_null(value=True))
        return changes.group_by("job_id").last().select("job_id", pl.col("value").alias("_changed"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Give each event as a mapping without what it does not have."""
        rows = self.table.iter_rows(named=True)
        return [{name: value for name, value in row.items() if value is not None} for row in rows]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __len__(self) -> int:
        return len(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventStream) and self.table.equals(other.table)

    __hash__ = None  # type: ignore[assignment]  # it holds a table

    def __repr__(self) -> str:
        kinds = (
            self.table["event"].value_counts().sort("count", "event", descending=[True, False]).iter_rows()
        )
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds)
        return f"<EventStream of {len(self):,} events{': ' * bool(counts)}{counts}>"


def _renamed(last: pl.DataFrame, name: str) -> pl.DataFrame:
    """Give the time of each job's last event of a kind under a name, with its nodes or its kind."""
    time = pl.col("time").alias(name)
    if name == "start_time":
        return last.select("job_id", time, "nodes")
    return last.select("job_id", time, pl.col("event").alias("_end"))


def _checked(events: object) -> pl.DataFrame:
    """Make a table of events: checked, in columns, by time."""
    if isinstance(events, pl.DataFrame):
        rows: Iterable[object] = events.iter_rows(named=True)
    elif isinstance(events, Iterable) and not isinstance(events, str | bytes | Mapping):
        rows = events
    else:
        rule = "must be a DataFrame, an EventStream or mappings. Read files by batchlab.read_events"
        raise WorkloadError(f"events = {shown(events)}; {rule}.")
    found = [_row(number, row) for number, row in enumerate(rows, 1)]
    others = list(dict.fromkeys(name for row in found for name in row if name not in EVENT_COLUMNS))
    columns = {
        name: pl.Series(name, [row.get(name) for row in found], dtype=kind)
        for name, kind in EVENT_COLUMNS.items()
    }
    for name in others:
        columns[name] = pl.Series(name, [row.get(name) for row in found], strict=False)
    table = pl.DataFrame(list(columns.values()))
    return table.sort("time", maintain_order=True)


def _row(number: int, event: object) -> dict[str, Any]:
    """Check one event."""
    if not isinstance(event, Mapping):
        raise WorkloadError(
            f"event {number} = {shown(event)}; must be a mapping, as {{'time': 5, 'event': …}}."
        )
    row = {str(name): value for name, value in event.items() if value is not None}
    kind = row.get("event")
    if kind not in _KINDS:
        rule = f"must be one of {', '.join(EXTERNAL_EVENTS)}"
        raise WorkloadError(f"event {number}: event = {shown(kind)}; {rule}.{suggest(str(kind), _KINDS)}")
    where = f"event {number} ({kind})"
    time = row.get("time")
    if not is_finite(time):
        raise WorkloadError(f"{where}: time = {shown(time)}; must be a finite number of seconds.")
    row["time"] = float(time) + 0.0
    if kind in JOB_EVENTS | set(INTERNAL_EVENTS):
        job = row.get("job_id")
        if isinstance(job, bool) or not isinstance(job, int) or not -(2**63) <= job < 2**63:
            raise WorkloadError(f"{where}: job_id = {shown(job)}; must be a whole number of 64 bits.")
    if "nodes" in row:
        row["nodes"] = _nodes(where, row["nodes"])
    if kind in NODE_EVENTS and not row.get("nodes"):
        raise WorkloadError(f'{where}: nodes = {shown(row.get("nodes"))}; must name nodes, e.g. "0-3,7".')
    _check_value(where, kind, row.get("value"))
    jobs = row.get("jobs")
    if jobs is not None and (kind != "down" or jobs not in _EVACUATIONS):
        rule = '"requeue" or "kill", of events down only'
        raise WorkloadError(f"{where}: jobs = {shown(jobs)}; must be {rule}.")
    return row


def _nodes(where: str, nodes: object) -> str:
    """Write nodes as ranges, and check them."""
    if isinstance(nodes, list | tuple | pl.Series):
        nodes = ",".join(map(str, nodes))
    try:
        node_ranges(nodes)
    except ValueError:
        rule = 'must be node numbers or ranges of them, e.g. "0-3,7"'
        raise WorkloadError(f"{where}: nodes = {shown(nodes)}; {rule}.") from None
    return str(nodes)


def _check_value(where: str, kind: object, value: object) -> None:
    if kind == "requested_time":
        if not is_finite(value) or value < 0:
            raise WorkloadError(f"{where}: value = {shown(value)}; must be a finite number of seconds >= 0.")
    elif kind == "priority" and value is not None and not is_finite(value):
        raise WorkloadError(f"{where}: value = {shown(value)}; must be a finite number, or left out.")
