"""The reader of public data sets and custom tables, based on a mapping of their columns."""

from __future__ import annotations

import math
import os
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload import reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.formats import beginning
from batchlab.workload.header import Header
from batchlab.workload.logs.outcomes import (
    STATUS_OF,
    is_ended,
    note_run_events,
    note_unknown,
    with_begin_times,
    with_ends,
    with_limits,
    word,
)
from batchlab.workload.logs.reading import COMPONENT, NEVER_STARTED, YEAR, Notes, OpenLog, Reading
from batchlab.workload.mappings.catalogue import mapping_named, recognised
from batchlab.workload.mappings.mapping import LogMapping
from batchlab.workload.mappings.rows import rows_of
from batchlab.workload.mappings.values import ColumnParser, sizes_of, span_of
from batchlab.workload.packing import unpacked
from batchlab.workload.report import Report
from batchlab.workload.run_events import CANCELLED_AFTER, RUN_EVENTS
from batchlab.workload.source import name_of, pieces
from batchlab.workload.validation import admit
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab.core.vocabulary import InvalidAction, OverrunAction, ProcessorField
    from batchlab.workload.log_options import UnfinishedAction
    from batchlab.workload.mappings.rows import Rows


# Prefix of kept columns, so that their names do not clash with the columns used here.
_KEPT = "kept "
_TEXTS = ("user", "group", "account", "partition", "queue", "qos", "job_name")
_SUBMISSION = "submission is unknown or no time"
_BACKWARDS = "ended before it started"
_NO_END = "ended, and its run time is unknown"
_UNFINISHED = "had not ended when the log was written"
_EARLY_START = "started before it was submitted"
_SEVERAL = "started several times: its run time is that of all attempts together"


def workload_of(rows: Rows, reader: ColumnParser, log: OpenLog) -> Workload:
    """Convert the rows of a data set to a workload.

    Parameters
    ----------
    rows
        The columns that the mapping uses.
    reader
        Parses the columns.
    log
        The name of the source and the reading options; collects remarks on rows.

    Raises
    ------
    WorkloadError
        If no row describes a valid job; with ``invalid="raise"``, at the first job that breaks a rule.
    """
    mapping, notes = reader.mapping, log.notes
    if not rows.table.height:
        raise WorkloadError(f"{log.name}: has no row. Give a data set with jobs in it.")
    jobs = _with_ends(_read(rows, reader, log), reader, notes)
    jobs = log.refuse(jobs, pl.col("submit").is_finite(), "submit", _SUBMISSION)
    if log.reading.unfinished == "drop":
        jobs = log.refuse(jobs, pl.col("ended"), "state", _UNFINISHED, is_usual=True)
    jobs = _with_cancellations(jobs, reader, log)
    jobs = log.refuse(jobs, ~(pl.col("end") < pl.col("start")).fill_null(value=False), "end", _BACKWARDS)
    jobs = log.refuse(jobs, pl.col("run_time").is_not_null(), "end", _NO_END)
    for remark, where in (
        (_EARLY_START, pl.col("start") < pl.col("submit")),
        (COMPONENT, pl.col("components") > 1),
        (_SEVERAL, pl.col("attempts") > 1),
    ):
        odd = jobs.filter(where.fill_null(value=False))
        notes.add("noted", remark, odd["line"], odd["base"])
    return _admitted(jobs.sort("submit", "line", maintain_order=True), log, mapping, rows.comments)


def _read(rows: Rows, reader: ColumnParser, log: OpenLog) -> pl.DataFrame:
    """Parse all columns; columns without a role are kept."""
    mapping, notes = reader.mapping, log.notes
    span = span_of(reader, notes, log.reading.timezone)
    number, identifier = _identifiers(reader)
    height = rows.table.height
    nothing = pl.repeat(None, height, dtype=pl.String, eager=True)
    jobs = pl.DataFrame(
        {
            "line": pl.int_range(height, eager=True),
            "base": number,
            "job_id": number,
            "logged_id": identifier,
            **{name: values.alias(name) for name, values in span._asdict().items()},
            "limit": reader.number("limit") if reader.has("limit") else _unknown(height),
            "state": reader.text("state") if reader.has("state") else nothing,
            "components": _components(reader, height),
        }
    )
    texts = {role: reader.text(role) if reader.has(role) else nothing for role in _TEXTS}
    kept = [
        rows.table[name].alias(f"{_KEPT}{name}") for name in mapping.keep or () if name in rows.table.columns
    ]
    return jobs.with_columns(
        *sizes_of(reader, log), *(text.alias(role) for role, text in texts.items()), *kept
    )


def _unknown(height: int) -> pl.Series:
    return pl.repeat(None, height, dtype=pl.Float64, eager=True)


def _identifiers(reader: ColumnParser) -> tuple[pl.Series, pl.Series]:
    """Return the numbers and names of jobs; if the names are no numbers, rows are numbered."""
    height = reader.table.height
    places = pl.int_range(1, height + 1, eager=True, dtype=pl.Int64)
    if not reader.has("job_id"):
        return places, places.cast(pl.String)
    names = reader.text("job_id")
    numbers = names.cast(pl.Int64, strict=False)
    if numbers.null_count() or (numbers < 0).any():
        return places, names.fill_null(places.cast(pl.String))
    return numbers, names


def _components(reader: ColumnParser, height: int) -> pl.Series:
    if not reader.has("component_of"):
        return pl.repeat(1, height, dtype=pl.UInt32, eager=True)
    names = reader.text("component_of").to_frame("name")
    return names.select(pl.when(pl.col("name").is_not_null()).then(pl.len().over("name"))).to_series()


def _with_ends(jobs: pl.DataFrame, reader: ColumnParser, notes: Notes) -> pl.DataFrame:
    """Add whether each job ended, by its state, or else by its end time."""
    states = reader.mapping.states
    jobs = jobs.with_columns(pl.col("state").replace(states) if states else pl.col("state"))
    # Without a table of states in the mapping, a number counts as a state.
    jobs = jobs.with_columns(pl.coalesce(word("state"), "state").alias("state"))
    ended = jobs.select(is_ended()).to_series()
    jobs = jobs.with_columns(ended | (jobs["state"].is_null() & jobs["run_time"].is_not_null()))
    note_unknown(jobs, notes)
    return jobs


def _with_cancellations(jobs: pl.DataFrame, reader: ColumnParser, log: OpenLog) -> pl.DataFrame:
    """Convert jobs that never started to cancellations after their wait, or to jobs of 0 s."""
    if not (reader.has("start") or reader.has("wait") or reader.mapping.attempts is not None):
        return jobs
    instant = pl.col("run_time").fill_null(0) <= 0
    cancelled = pl.col("state").is_in(["CANCELLED", "DEADLINE"]).fill_null(value=False)
    never = pl.col("ended") & instant & (pl.col("start").is_null() | cancelled)
    # For a job with a wait and no end, the wait was the time in the queue.
    left = pl.coalesce("end", "start")
    jobs = jobs.with_columns(
        pl.when(never).then(0.0).otherwise("run_time").alias("run_time"),
        pl.when(never).then(left).otherwise("end").alias("end"),
        pl.when(~never).then("start").alias("start"),
        never.alias("never_started"),
    )
    queued = jobs.filter("never_started")
    if not log.reading.log_events:
        log.notes.add("mended", NEVER_STARTED, queued["line"], queued["base"])
        return jobs
    waited = pl.col("end") - pl.col("submit")
    jobs = jobs.with_columns(pl.when("never_started").then(waited).alias(CANCELLED_AFTER))
    jobs = with_ends(jobs)
    unsaid = pl.lit(None, pl.Float64)
    note_run_events(jobs.with_columns(unsaid.alias("suspended"), unsaid.alias("restarts")), log.notes)
    known = ~pl.col("never_started") | (pl.col(CANCELLED_AFTER) >= 0)
    return log.refuse(jobs, known, "end", reasons.CANCELLED_UNKNOWN_WAIT, is_usual=True)


def _admitted(jobs: pl.DataFrame, log: OpenLog, mapping: LogMapping, comments: tuple[str, ...]) -> Workload:
    """Check the jobs like any table, and assemble the report."""
    notes, reading = log.notes, log.reading
    dropped = notes.table("dropped")
    if jobs.is_empty():
        place = log.place(dropped["line"][0])
        raise WorkloadError(
            f"{place}: {dropped['reason'][0]}, and none of {dropped.height:,} rows is of a job that can be "
            "taken. Check the mapping's columns and units."
        )
    origin = 0 if mapping.times.relative else math.floor(float(jobs["submit"].min() or 0.0))  # type: ignore[arg-type]
    jobs = with_limits(jobs, notes, reading)
    resources = [name for name in mapping.amounts if name in jobs.columns]
    admitted, report, names = admit(
        with_begin_times(jobs.select(*_columns(jobs, origin))),
        resources=resources,
        overrun=reading.overrun,
        invalid=reading.invalid,
        source=log.name,
        lines=jobs["line"],
    )
    dropped, mended, noted = notes.with_those_of(report)
    whole = Report(
        source=log.name,
        read=admitted.height + dropped.height,
        kept=admitted.height,
        dropped=dropped,
        mended=mended,
        noted=noted,
        unit="row",
        mended_jobs=mended["line"].n_unique(),
        options={**reading.options, **log.options},
    )
    return Workload(admitted, _header(mapping, origin, reading.timezone, comments), whole, names)


def _header(mapping: LogMapping, origin: int, zone: str, comments: tuple[str, ...]) -> Header:
    if comments:
        return Header(comments)
    said: dict[str, object] = {"TimeZoneString": zone}
    if not mapping.times.relative:
        said = {"UnixStartTime": origin, **said}
    return Header.from_fields(said)


_OWN = (
    *("line", "base", "job_id", TIME_LIMIT, "logged_id", "submit", "eligible", "start", "end"),
    *("run_time", "attempts", "limit"),
)
_OUTCOMES = (
    *("state", "components", "ended", "never_started", CANCELLED_AFTER, RUN_EVENTS, "requested_time"),
    *("allocated_processors", "allocated_nodes"),
)


def _columns(jobs: pl.DataFrame, origin: int) -> list[pl.Expr]:
    """Return the columns of the workload: standard columns, requests, outcomes of jobs."""
    others = [name for name in jobs.columns if name not in (*_OWN, *_OUTCOMES) and jobs[name].count()]
    given = [name for name in ("allocated_processors", "allocated_nodes") if name in jobs.columns]
    return [
        pl.col("job_id"),
        (pl.col("submit") - origin).alias("submit_time"),
        "run_time",  # type: ignore[list-item]
        "requested_time",  # type: ignore[list-item]
        *([pl.col(TIME_LIMIT)] if TIME_LIMIT in jobs.columns else []),
        pl.col("logged_id"),
        *(pl.col(name).alias(name.removeprefix(_KEPT)) for name in others),
        (pl.col("eligible") - origin).alias("eligible_time"),
        (pl.col("start") - origin).alias("start_time"),
        (pl.col("end") - origin).alias("end_time"),
        (pl.col("start") - pl.col("submit")).fill_null(-1.0).alias("logged_wait_time"),
        *(pl.col(name) for name in given),
        pl.col("state").str.to_lowercase(),
        pl.col("state").replace_strict(STATUS_OF, default=-1, return_dtype=pl.Int64).alias("status"),
        pl.col("attempts"),
        *(
            pl.col(name)
            for name in (CANCELLED_AFTER, RUN_EVENTS)
            if name in jobs.columns and jobs[name].count()
        ),
    ]


def read_mapped(
    source: str | os.PathLike[str] | IO[bytes] | Iterable[str | bytes],
    mapping: LogMapping | str | os.PathLike[str] | None = None,
    *,
    timezone: str | None = None,
    overrun: OverrunAction = "keep",
    invalid: InvalidAction = "drop",
    processors: ProcessorField = "requested",
    use_memory: bool = True,
    unfinished: UnfinishedAction = "drop",
    log_events: bool = True,
    unlimited: float | Mapping[str, float] = YEAR,
) -> Workload:
    """Read a public data set of jobs or a custom table, using a mapping of its columns.

    Parameters
    ----------
    source
        A path, an open file, or an iterable of lines: CSV (plain or compressed), Parquet, JSON (lines or one
        list), or blank-separated fields. From Parquet, only the required columns are read.
    mapping
        The name of a mapping (``batchlab traces list``), the path of a TOML file, or a `LogMapping`. By
        default it is detected by the names of the columns.
    timezone
        Time zone of time stamps without one; by default that in the mapping.
    overrun, invalid
        As for `read_swf`.
    processors
        Whether ``"requested"`` or ``"allocated"`` nodes and cores take precedence.
    use_memory
        Whether tasks request memory, if the mapping has it: column ``mem``, kB (KiB) per task.
    unfinished, log_events, unlimited
        As for `read_sacct`.

    Returns
    -------
    Workload
        One row per job, sorted by submission. ``tasks`` are defined by the mapping, and each amount in it is
        a column of requests per task: ``core``, ``gpu``, ``mem``, and other resources under their names. If
        tasks are nodes, ``tasks_per_node`` is 1. Amounts that do not divide evenly are rounded up, and
        counted in the report. The other columns are those of `read_sacct`, as far as the mapping has them,
        and the columns that it keeps. The origin is the first submission.

    Raises
    ------
    WorkloadError
        If the file or the mapping cannot be read, or not exactly one mapping fits; with ``invalid="raise"``,
        at the first job that breaks a rule.

    Examples
    --------
    >>> own = LogMapping.of({"columns": {"submit": "in", "run_time": "ran", "cores": "n"}})
    >>> read_mapped(["in,ran,n", "100,60,4"], own).jobs.select("run_time", "tasks").row(0)
    (60.0, 4)
    """
    begin, whole = _beginning_of(source)
    chosen = _chosen(mapping, begin, source)
    reading = Reading(
        timezone=timezone or chosen.times.zone,
        overrun=overrun,
        invalid=invalid,
        processors=processors,
        use_memory=use_memory,
        unfinished=unfinished,
        log_events=log_events,
        unlimited=unlimited,
    )
    if chosen.file.format == "pbs":
        return _of_pbs(whole, reading)
    rows = rows_of(whole, chosen, begin)
    named = {"mapping": str(mapping)} if isinstance(mapping, str | os.PathLike) else {}
    log = OpenLog(name_of(source), Notes(), reading, unit="row", options=named)
    return workload_of(rows, ColumnParser(rows.table, chosen), log)


def mapping_of_source(
    source: object, mapping: LogMapping | str | os.PathLike[str] | None = None
) -> LogMapping:
    """Return the mapping of a data set: the argument, or the mapping that fits the columns.

    Raises
    ------
    WorkloadError
        As for `read_mapped`.
    """
    return _chosen(mapping, _beginning_of(source)[0], source)


def _chosen(mapping: LogMapping | str | os.PathLike[str] | None, begin: bytes, source: object) -> LogMapping:
    if isinstance(mapping, LogMapping):
        return mapping
    if mapping is not None:
        return mapping_named(mapping)
    found = recognised(begin, source)
    if found is None:
        raise WorkloadError(
            f"{name_of(source)}: its columns are those of no known data set. Name a mapping (batchlab "
            "traces list), or write one: docs/data-sets.md."
        )
    return found


def _of_pbs(source: object, reading: Reading) -> Workload:
    from batchlab.workload.logs.pbs import read_pbs  # noqa: PLC0415  # few data sets are logs of PBS

    return read_pbs(
        source,  # type: ignore[arg-type]
        timezone=reading.timezone,
        overrun=reading.overrun,
        invalid=reading.invalid,
        processors=reading.processors,
        log_events=reading.log_events,
    )


def _beginning_of(source: object) -> tuple[bytes, object]:
    """Return the first bytes of a source, unpacked, and the source to read from the beginning."""
    name = name_of(source)
    if isinstance(source, str | os.PathLike):
        return beginning(Path(os.fsdecode(source))), source
    blocks = unpacked(pieces(source, name), name)
    first = list(islice(blocks, 1))
    return b"".join(first), _Pieces(chain(first, blocks), name)


class _Pieces:
    """An open file with bytes already read from its beginning."""

    def __init__(self, blocks: chain[bytes], name: str) -> None:
        self._blocks, self.name = blocks, name

    def read(self, _most: int = -1) -> bytes:
        """Return the next chunk; empty at the end."""
        return next((block for block in self._blocks if block), b"")
