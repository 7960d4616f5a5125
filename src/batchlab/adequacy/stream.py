"""Streams of jobs, and how they are read from output of runs, logs and tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Unpack

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.vocabulary import EXTERNAL_EVENTS
from batchlab.errors import AdequacyError, WorkloadError, reason_of, shown, suggest
from batchlab.result.archive import NAME
from batchlab.result.read import read_result
from batchlab.result.result import Result
from batchlab.result.table import ALLOCATED, jobs_table
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.event_rules import SUBJECT_KEYS
from batchlab.workload.event_stream import EVENT_COLUMNS, EventStream, read_events
from batchlab.workload.formats import FORM_OPTIONS, log_format, read_by
from batchlab.workload.packing import without_packing
from batchlab.workload.run_events import logged_start
from batchlab.workload.source import content_of
from batchlab.workload.validation import as_polars
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping

    from batchlab.workload.log_options import ReadingArguments

EVENTS = {"time": pl.Float64, "event": pl.String, "job_id": pl.Int64, "subject": pl.String}
"""Columns of events; ``subject`` is the object of an event other than a job, with its value."""

OF_SCHEDULER = ("start", "interrupted")
"""Events whose times are decisions of the scheduler; their numbers are not."""


def no_events() -> pl.DataFrame:
    """Return a table of events without rows."""
    return pl.DataFrame(schema=EVENTS)


def other_events(table: pl.DataFrame) -> pl.DataFrame:
    """Select the events of a stream that a table of jobs does not contain.

    Parameters
    ----------
    table
        The table of an `EventStream`.

    Returns
    -------
    polars.DataFrame
        Sorted by time, with the columns of `EVENTS`: external events except submissions, interruptions, and
        all starts of a job except the first.
    """
    is_again = pl.col("event").eq("start") & (pl.int_range(pl.len()).over("job_id", "event") > 0)
    external = [event for event in EXTERNAL_EVENTS if event != "submit"]
    chosen = pl.col("event").is_in([*external, "interrupted"]) | is_again
    named = [*SUBJECT_KEYS, *(name for name in EVENT_COLUMNS if name not in EVENTS)]
    about = [pl.col(name).cast(pl.String) for name in named if name in table.columns]
    # The nodes of starts and interruptions are decisions of the scheduler.
    subject = pl.concat_str(about, separator=" ", ignore_nulls=True)
    subject = pl.when(pl.col("event").is_in(OF_SCHEDULER)).then(pl.lit("")).otherwise(subject)
    own = pl.col("time").cast(pl.Float64), "event", pl.col("job_id").cast(pl.Int64)
    return table.filter(chosen).select(*own, subject.alias("subject"))


Source: TypeAlias = Result | Workload | EventStream | object
"""A result, a workload with start times, a stream of events, or a table with the columns of `Result.jobs`."""

NEVER, OPEN, ENDED, COMPLETED, KILLED = range(5)
ENDS = ("never started", "started, but not ended", "ended", "completed", "killed")
"""Outcome of a job. `ENDED` leaves open whether it completed or was killed."""

_SECONDS = ("submit_time", "requested_time", "start_time", "end_time")
_USUAL_AMOUNTS = ("core", "mem", "gpu")
# A job that fails ends by itself. The other words are states of Slurm and of batchlab. A job that reached its
# limit ended with its run in the log, so a model may complete it or kill it at the limit.
_BY_ITSELF = ("completed", "failed")
_CUT_SHORT = (
    *("killed", "interrupted", "cancelled", "preempted", "deadline", "revoked"),
    *("node_fail", "boot_fail", "out_of_memory"),
)
_TOO_LARGE = 1e15


@dataclass(frozen=True, eq=False)
class Stream:
    """The jobs of a run.

    Parameters
    ----------
    name
        Name of the stream in messages.
    jobs
        Sorted by submit time, then job id, then row: ``job_id``, ``submit_time``, ``requested_time``,
        ``start_time`` and ``end_time`` (Float64, s; null if missing), ``tasks`` (Float64), the amounts that
        each task requests (Float64), and ``ended``, an index into `ENDS`.
    amounts
        The resources with amounts.
    numbered
        True if the jobs have unique ids of their own; otherwise ids are row numbers from 1.
    events
        The other events of the run, as selected by `other_events`; None if unknown.
    """

    name: str
    jobs: pl.DataFrame
    amounts: tuple[str, ...]
    numbered: bool
    events: pl.DataFrame | None = None


def as_stream(source: Source, name: str) -> Stream:
    """Convert a source to a stream of jobs.

    Parameters
    ----------
    source
        A result, a workload with start times, a stream of events, or a table.
    name
        Name of the stream in messages.

    Returns
    -------
    Stream
        Its jobs in the order of arrival.

    Raises
    ------
    AdequacyError
        If start times or a column are missing, or a value is not a number.
    """
    if isinstance(source, Result):
        table = jobs_table(source.workload, source.system, source.outcome)
        return replace(_stream(table, source.workload.resources, name), events=_events(source))
    if isinstance(source, EventStream):
        return replace(as_stream(source.jobs, name), events=other_events(source.table))
    if isinstance(source, Workload):
        return _stream(with_starts(source.jobs, name), source.resources, name)
    try:
        table = as_polars(source)
    except ValueError as error:
        forms = "Pass a Result, a Workload with start times, or a table like result.jobs."
        raise AdequacyError(f"{name}: {reason_of(error)}. {forms}") from error
    return _stream(table, _amounts(table), name)


def _events(result: Result) -> pl.DataFrame:
    """Return the other events of a run."""
    cut = result.outcome.tables.get("interruptions")
    if result.external_events is None and (cut is None or not len(cut["row"])):
        return no_events()
    return other_events(result.events.table)


def with_starts(jobs: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a workload's jobs with start times; for logs, computed from waits."""
    start = logged_start(jobs)
    if start is None:
        rule = "must have a column start_time or, from a log, logged_wait_time"
        raise AdequacyError(f"{name}: the workload has no start times; {rule}. Simulate it, or read its log.")
    return jobs if "start_time" in jobs.columns else jobs.with_columns(start_time=start)


def _amounts(table: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns with amounts per task: the usual ones, and those of resources in the table."""
    named = (column.removeprefix(ALLOCATED) for column in table.columns if column.startswith(ALLOCATED))
    found = dict.fromkeys((*_USUAL_AMOUNTS, *named))
    return tuple(each for each in found if each in table.columns and table.schema[each].is_numeric())


def _stream(table: pl.DataFrame, amounts: Iterable[str], name: str) -> Stream:
    table = _with_ends(table, name)
    missing = [each for each in (*_SECONDS, "tasks") if each not in table.columns]
    if missing:
        known = suggest(missing[0], table.columns) if table.columns else ""
        raise AdequacyError(f"{name}: the table has no column {missing[0]}; it is needed.{known}")
    amounts = tuple(amounts)
    columns = [_number(table[each], name) for each in (*_SECONDS, "tasks", *amounts)]
    if columns[0].null_count():
        row = int(columns[0].is_null().arg_true()[0])
        raise AdequacyError(f"{name}: submit_time is missing in row {row}; every job needs one.")
    numbered = "job_id" in table.columns and not table["job_id"].has_nulls()
    ids = _ids(table["job_id"], name) if numbered else _rows(table.height)
    state = table["state"] if "state" in table.columns else None
    jobs = pl.DataFrame([ids, *columns]).with_columns(_ended(state))
    jobs = jobs.sort("submit_time", "job_id", maintain_order=True)
    _check_times(jobs, name)
    return Stream(name, jobs, amounts, numbered and not ids.is_duplicated().any())


def _ids(column: pl.Series, name: str) -> pl.Series:
    """Convert ids to integers or texts, so that ids of two tables can be compared."""
    try:
        if column.dtype.is_numeric():
            return column.cast(pl.Int64)
        return column.cast(pl.String)
    except UNREADABLE as error:
        raise AdequacyError(f"{name}: column job_id: {reason_of(error)}. Give numbers or texts.") from error


def _rows(count: int) -> pl.Series:
    return pl.Series("job_id", range(1, count + 1), dtype=pl.Int64)


def _check_times(jobs: pl.DataFrame, name: str) -> None:
    rules = (
        ("submit_time", "start_time", "a job starts no earlier than it is submitted"),
        ("start_time", "end_time", "a job ends no earlier than it starts"),
    )
    for first, then, rule in rules:
        wrong = jobs.filter(pl.col(then) < pl.col(first))
        if not wrong.is_empty():
            job, one, other = wrong.select("job_id", first, then).row(0)
            raise AdequacyError(
                f"{name}: job {shown(job)}: {first} = {one:.12g}, {then} = {other:.12g}; {rule}."
            )


def _with_ends(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Add end times computed from starts and run times, if the table has no end times."""
    if "end_time" in table.columns or not {"start_time", "run_time"} <= {*table.columns}:
        return table
    start, run = (_number(table[each], name) for each in ("start_time", "run_time"))
    return table.with_columns((start + run).alias("end_time"))


def _number(column: pl.Series, name: str) -> pl.Series:
    """Convert a column to float64, with null for missing values."""
    if column.dtype.is_temporal():
        rule = "Give seconds since one origin, the same for both streams"
        raise AdequacyError(f"{name}: column {column.name} has dates or durations. {rule}.")
    try:
        values = column.cast(pl.Float64).fill_nan(None)
    except UNREADABLE as error:
        raise AdequacyError(f"{name}: column {column.name}: {reason_of(error)}. Give numbers.") from error
    # The requested time may be unlimited. Other times must be in the range where float64 has fractions of
    # seconds.
    if column.name != "requested_time" and (values.abs() >= _TOO_LARGE).any():
        raise AdequacyError(
            f"{name}: column {column.name} has a value of 1e15 or more; must be less, or null."
        )
    return values


def _ended(state: pl.Series | None) -> pl.Expr:
    """Return the outcome of each job by its times, and by its state if the table has states."""
    how = pl.lit(ENDED)
    if state is not None:
        words = pl.lit(state.cast(pl.String).str.to_lowercase().str.extract(r"^(\w+)"))
        how = _any_of(words, _BY_ITSELF, COMPLETED, _any_of(words, _CUT_SHORT, KILLED, how))
    started, ended = pl.col("start_time").is_not_null(), pl.col("end_time").is_not_null()
    what = pl.when(~started).then(NEVER).when(~ended).then(OPEN).otherwise(how)
    return what.cast(pl.Int8).alias("ended")


def _any_of(words: pl.Expr, known: Collection[str], value: int, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(words.is_in(list(known))).then(value).otherwise(otherwise)


_JOBS = "jobs.csv"
_FORMS = f"Give the folder of a run (with {_JOBS}), a table or a log"


@checked(AdequacyError)
def read(
    path: str | os.PathLike[str], **reading: Unpack[ReadingArguments]
) -> pl.DataFrame | Workload | EventStream | Result:
    """Read a stream of jobs for `compare`.

    Parameters
    ----------
    path
        The output folder of a run (``batchlab run --out``, `Result.write`), a table (``jobs.csv``, other CSV,
        Parquet) with the columns of `Result.jobs`, a stream of events (lines of JSON with the suffix
        ``.jsonl``, CSV), a log (SWF, Slurm's sacct or jobcomp, PBS), or a data set supported by
        `read_mapped`.
    **reading
        For logs: the reading options of the commands, such as ``overrun="cut"``,
        ``timezone="Europe/Berlin"``, ``mapping="pm100"`` or ``max_jobs=100``. [default: as in the log's
        reader, so that a log and a run of it agree]

    Returns
    -------
    polars.DataFrame, Workload, EventStream or Result
        The jobs; with all events of the run for a stream of events or a folder with ``result.zip``.

    Raises
    ------
    AdequacyError
        If the file cannot be read, or if reading options are given for a file that is not a log.
    WorkloadError
        If the file is not a log, or if its format does not have one of the options.
    """
    file = _file(Path(path))
    given = {name: value for name, value in reading.items() if value is not None}
    if _is_log(Path(path), file, given):
        return read_by(file, given)
    if given:
        option = next(iter(given))
        raise AdequacyError(f"{path}: {option} applies to logs, and this is not a log. Leave it out.")
    return read_result(path) if _is_result(Path(path)) else _table(file)


def is_log(path: str | os.PathLike[str], **reading: Unpack[ReadingArguments]) -> bool:
    """Return whether `read` reads a log there, which has options of reading; see there."""
    return _is_log(Path(path), _file(Path(path)), reading)


def _is_result(path: Path) -> bool:
    return path.is_dir() and (path / NAME).exists()


def _is_log(path: Path, file: Path, given: Mapping[str, object]) -> bool:
    if path.is_dir():
        return False
    if not FORM_OPTIONS.isdisjoint(given) or log_format(file) == "mapped":
        return True
    name = file.name.lower()
    return not (without_packing(name).endswith((".jsonl", ".csv")) or name.endswith(".parquet"))


def _table(file: Path) -> pl.DataFrame | EventStream:
    """Read a table of jobs, or a stream of events."""
    name = file.name.lower()
    try:
        if name.endswith(".parquet"):
            return pl.read_parquet(file, glob=False)
        if without_packing(name).endswith(".jsonl"):
            return read_events(file)
        table = pl.read_csv(content_of(file), infer_schema_length=None)
        return read_events(file) if "event" in table.columns else table
    except WorkloadError as error:
        # The error of an event, with its file and line.
        raise AdequacyError(str(error)) from error
    except (OSError, *UNREADABLE) as error:
        raise AdequacyError(f"{file}: cannot be read: {reason_of(error)}. {_FORMS}.") from error


def _file(path: Path) -> Path:
    """Return the file with the jobs."""
    try:
        file = path / _JOBS if path.is_dir() else path
        found = file.exists()
    except (OSError, ValueError) as error:
        raise AdequacyError(f"{path}: {reason_of(error)}. {_FORMS}.") from error
    if not found:
        raise AdequacyError(f"{file}: is not there. {_FORMS}.")
    return file
