"""Streams of events: time-stamped events of jobs, nodes and the scheduler, and their files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.core.units import format_count
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.event_rules import (
    EVENT_KEYS,
    SUBJECT_KEYS,
    check_form,
    checked_event,
    event_lines,
    is_csv,
)
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Iterator


_TYPES = (pl.Float64, pl.String, pl.Int64, pl.String, pl.Float64, pl.String)
EVENT_COLUMNS: Mapping[str, type[pl.DataType]] = dict(zip(EVENT_KEYS, _TYPES, strict=True))
"""The columns of external events, with their types."""

END_EVENTS = ("completed", "killed", "rejected", "cancelled")
"""The internal events that end a job, named after its final state."""


class EventStream:
    """Events sorted by time; events with the same time stamp keep their order.

    Parameters
    ----------
    events
        A DataFrame, another stream, or an iterable of mappings, one per event: ``time`` (s), ``event`` (the
        kind; semantics S18), and the keys of this kind: ``job_id``; ``nodes``, as ``"0-3,7"`` or a list of
        numbers; ``value`` (a requested_time in seconds, a priority, or the new value of a limit); for
        ``down``, ``jobs``: ``"requeue"`` (default) or ``"kill"``; ``limit``, with ``quantity`` if it limits
        several, and ``reservation``: their names. Other keys, such as requests of a job, are kept as columns.

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
        """The external events: all except actions of the scheduler and their consequences."""
        return self._those(EXTERNAL_EVENTS)

    @property
    def internal(self) -> EventStream:
        """The internal events: starts, ends, interruptions, rejections."""
        return self._those(INTERNAL_EVENTS)

    def _those(self, kinds: Iterable[str]) -> EventStream:
        return self.of_table(self.table.filter(pl.col("event").is_in(list(kinds))))

    @classmethod
    def of_table(cls, table: pl.DataFrame) -> EventStream:
        """Create a stream from a table with the columns of `EVENT_COLUMNS`, sorted by time."""
        stream = object.__new__(cls)
        stream.table = table
        return stream

    @property
    def jobs(self) -> pl.DataFrame:
        """Return one row per submitted job with its outcome, in order of submission.

        Returns
        -------
        polars.DataFrame
            ``job_id``, ``submit_time``, ``state`` (String: "completed", "killed", "rejected", "cancelled";
            "running" or "queued" if the stream has no end of the job), ``start_time`` and ``end_time`` of its
            last run (s, null if missing), ``nodes`` (String), and the additional columns of the submission. A
            requested_time is the last value that events set.
        """
        submitted = self.table.filter(pl.col("event") == "submit")
        own = [name for name in submitted.columns if name not in (*EVENT_COLUMNS, "applied")]
        jobs = submitted.select("job_id", pl.col("time").alias("submit_time"), *own)
        if "requested_time" in own:
            jobs = jobs.join(self._changed_requests(), on="job_id", how="left", maintain_order="left")
            times = [name for name in ("requested_time", TIME_LIMIT) if name in own]
            jobs = jobs.with_columns(pl.coalesce("_changed", name).alias(name) for name in times)
        for kinds, name in ((("start",), "start_time"), (END_EVENTS, "end_time")):
            last = self.table.filter(pl.col("event").is_in(kinds)).group_by("job_id").last()
            jobs = jobs.join(_renamed(last, name), on="job_id", how="left", maintain_order="left")
        # With equal time stamps, the counts of starts and interruptions determine which came last.
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
        """Return the last requested_time of each job with an event that changed it."""
        changes = self.table.filter(pl.col("event") == "requested_time")
        if "applied" in changes.columns:
            changes = changes.filter(pl.col("applied").fill_null(value=True))
        return changes.group_by("job_id").last().select("job_id", pl.col("value").alias("_changed"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return each event as a mapping without null values."""
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
        return f"<EventStream of {format_count(len(self), 'event')}{': ' * bool(counts)}{counts}>"


def _renamed(last: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the time of each job's last event of a kind as column `name`, with its nodes or its kind."""
    time = pl.col("time").alias(name)
    if name == "start_time":
        return last.select("job_id", time, "nodes")
    return last.select("job_id", time, pl.col("event").alias("_end"))


def _checked(events: object) -> pl.DataFrame:
    """Check events and return them as a table, sorted by time."""
    if is_frame(events):
        rows: Iterable[object] = as_polars(events).iter_rows(named=True)
    elif isinstance(events, Iterable) and not isinstance(events, str | bytes | Mapping):
        rows = events
    else:
        rule = "must be a DataFrame, an EventStream or mappings. Read files by batchlab.read_events"
        raise WorkloadError(f"events = {shown(events)}; {rule}.")
    return events_table([checked_event(number, row) for number, row in enumerate(rows, 1)])


def events_table(found: list[dict[str, Any]]) -> pl.DataFrame:
    """Convert checked events to a table.

    Parameters
    ----------
    found
        The events, as `checked_event` returns them.

    Returns
    -------
    polars.DataFrame
        Sorted by time: the columns of `EVENT_COLUMNS`, then all others. Columns of `SUBJECT_KEYS` are text.
    """
    others = list(dict.fromkeys(name for row in found for name in row if name not in EVENT_COLUMNS))
    columns = {
        name: pl.Series(name, [row.get(name) for row in found], dtype=kind)
        for name, kind in EVENT_COLUMNS.items()
    }
    for name in others:
        kind = pl.String if name in SUBJECT_KEYS else None
        columns[name] = pl.Series(name, [row.get(name) for row in found], dtype=kind, strict=False)
    table = pl.DataFrame(list(columns.values()))
    return table.sort("time", maintain_order=True)


def read_events(source: str | os.PathLike[str] | Iterable[str]) -> EventStream:
    """Read a stream of events.

    Parameters
    ----------
    source
        A path (plain or ``.gz``), an open file, or an iterable of lines. Lines are JSON objects, one per
        event, or CSV with a header if the path ends in ``.csv``. `EventStream` lists the keys and columns.

    Returns
    -------
    EventStream

    Raises
    ------
    WorkloadError
        If a line has an invalid format or an event breaks a rule; the message names file and line.

    Examples
    --------
    >>> import batchlab as bl
    >>> len(bl.read_events(['{"time": 5, "event": "cancel", "job_id": 3}']))
    1
    """
    table = events_table([event for _, event in event_lines(source)])
    if is_csv(source):
        texts = [name for name in table.columns if name not in (*EVENT_COLUMNS, *SUBJECT_KEYS)]
        table = table.with_columns(_inferred(table[name]) for name in texts)
    return remember_source(EventStream.of_table(table), source)


@checked(WorkloadError)
def write_events(stream: EventStream, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a stream of events atomically.

    Parameters
    ----------
    stream
        The events.
    path
        The file: CSV for the suffix ``.csv``; JSON lines for ``.jsonl``, ``.ndjson``, ``.json`` or no suffix.
        Reading the file returns an equal stream.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the stream is never replaced.

    Raises
    ------
    OutputError
        If the file is the one that the stream was read from, or one that batchlab did not write.
    WorkloadError
        If the suffix is unknown.
    OSError
        If the file cannot be written.
    """
    check_form(path)
    if not isinstance(stream, EventStream):
        raise WorkloadError(f"stream = {shown(stream)}; must be an EventStream, e.g. of read_events().")
    with output(path, inputs=source_of(stream), overwrite=overwrite) as file:
        if os.fspath(path).endswith(".csv"):
            file.write(stream.table.write_csv())
        else:
            file.writelines(json.dumps(event) + "\n" for event in stream)


def _inferred(texts: pl.Series) -> pl.Series:
    """Infer the type of an additional CSV column: integer, float, boolean, or else text."""
    for kind in (pl.Int64, pl.Float64):
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count():
            return numbers
    return texts == "true" if texts.drop_nulls().is_in(["true", "false"]).all() else texts
