"""The columns of the records of any log, and their conversion to a checked workload."""

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload import reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.header import Header
from batchlab.workload.logs import quantities
from batchlab.workload.logs.node_events import names_of
from batchlab.workload.logs.outcomes import (
    STATUS_OF,
    expanded,
    highest,
    is_ended,
    joined,
    note_run_events,
    note_unknown,
    numbered,
    with_begin_times,
    with_dependency,
    with_ends,
    with_limits,
    with_parts,
    word,
)
from batchlab.workload.logs.quantities import ASKED, asked_columns
from batchlab.workload.logs.reading import COMPONENT, NEVER_STARTED, Notes, OpenLog, Reading
from batchlab.workload.report import Report
from batchlab.workload.run_events import CANCELLED_AFTER, RUN_EVENTS
from batchlab.workload.validation import admit
from batchlab.workload.workload import Workload

RECORD: Mapping[str, pl.DataType] = {
    "line": pl.Int64(),
    "logged_id": pl.String(),
    "raw": pl.Int64(),
    "cluster": pl.String(),
    "submit": pl.Float64(),
    "eligible": pl.Float64(),
    "start": pl.Float64(),
    "end": pl.Float64(),
    "elapsed": pl.Float64(),
    "suspended": pl.Float64(),
    RUN_EVENTS: pl.String(),
    "limit": pl.Float64(),
    "state": pl.String(),
    "requested": pl.Float64(),
    "allocated": pl.Float64(),
    "memory": pl.Float64(),
    "user": pl.String(),
    "job_name": pl.String(),
    "partition": pl.String(),
    "queue": pl.String(),
    "node_list": pl.String(),
}
"""The columns common to the records of all logs; null if the log has no value. Times in seconds since 1970
UTC, or seconds; ``limit`` is infinite for no limit; ``memory`` in kB per processor."""

_NO_NODES = ["None assigned", "(null)", ""]
_NUMBER = "is no number of a job"
_SUBMISSION = "submission is unknown or no time"
_BACKWARDS = "ended before it started"
_NO_END = "ended, but for how long it ran is unknown"
_UNFINISHED = "had not ended when the log was written"
_RUN_SO_FAR = "had not ended when the log was written: its time so far taken"
_OTHER_FIELD = "processors unknown: the other processor field taken"
_FROM_ELAPSED = "ended before it started: the end is the start and the time elapsed"
_EARLY_START = "started before it was submitted"
_OWN = ("line", "raw", "cluster", "eligible", "elapsed", "suspended", "limit", "requested", "allocated")
_PARTS = ("restarts", "base", "range", "component", "ended", "never_started", "memory", TIME_LIMIT)


def workload_of(records: pl.DataFrame, log: OpenLog, header: Mapping[str, object]) -> Workload:
    """Convert the records of a log to a workload.

    Parameters
    ----------
    records
        The columns of `RECORD`, and any additional columns, which are kept.
    log
        The log: its source, the remarks on its lines so far, and the reading options.
    header
        Header fields other than time zone and start time.

    Returns
    -------
    Workload
        Sorted by submission; the origin is the first submission.

    Raises
    ------
    WorkloadError
        If no record describes a job; with ``invalid="raise"``, at the first job that breaks a rule.
    """
    notes, reading = log.notes, log.reading
    if records.is_empty() and not notes.table("dropped").height:
        raise WorkloadError(
            f"{log.name}: has no record of a job. Write the log anew, for a time with jobs in it."
        )
    unsaid = {RUN_EVENTS: pl.String, "restarts": pl.Float64}
    records = records.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in unsaid.items() if name not in records.columns
    )
    records = with_parts(records).with_columns(word("state"))
    known = highest(records)
    records = log.refuse(records, pl.col("base").is_not_null(), "logged_id", _NUMBER)
    records = log.refuse(records, _is_time("submit"), "submit", _SUBMISSION)
    records = records.with_columns(is_ended()).with_columns(_never_started())
    note_unknown(records, notes)
    records = joined(records, notes, each=reading.requeues == "each")
    if reading.unfinished == "drop":
        records = log.refuse(records, pl.col("ended"), "state", _UNFINISHED, is_usual=True)
    jobs = numbered(expanded(records, notes).sort("submit", "line", maintain_order=True), known)
    jobs = _with_run_times(jobs, notes, reading)
    jobs = log.refuse(jobs, _is_forward(), "end", _BACKWARDS)
    jobs = log.refuse(jobs, pl.col("run_time").is_not_null(), "end", _NO_END)
    jobs = _with_requests(with_limits(jobs, notes, reading), notes, reading)
    jobs = log.refuse(jobs, pl.col("tasks") >= 1, "tasks", reasons.PROCESSORS)
    generic = [*asked_columns(jobs.columns)]
    jobs = quantities.with_chunks(jobs, notes, reading)
    for remark, where in (
        (_EARLY_START, pl.col("start") < pl.col("submit")),
        (COMPONENT, pl.col("component").is_not_null()),
    ):
        odd = jobs.filter(where.fill_null(value=False))
        notes.add("noted", remark, odd["line"], odd["job_id"])
    return _admitted(jobs, log, header, generic)


def _is_time(column: str) -> pl.Expr:
    return pl.col(column).is_finite()


def _is_forward() -> pl.Expr:
    return ~(pl.col("end") < pl.col("start")).fill_null(value=False)


def _never_started() -> pl.Expr:
    """Return a mask of jobs that ended in the queue; some versions of Slurm set their start to the end."""
    # In a dump without nodes, such jobs look like jobs that ended at once, which have the same run time 0.
    no_nodes = pl.col("node_list").is_in(_NO_NODES).fill_null(value=True)
    instant = (pl.col("elapsed").fill_null(0) == 0) & (pl.col("start") >= pl.col("end"))
    cancelled = pl.col("state").is_in(["CANCELLED", "DEADLINE"]).fill_null(value=False)
    found = pl.col("start").is_null() | (cancelled & no_nodes & instant).fill_null(value=False)
    return (pl.col("ended") & found & ~(pl.col("elapsed") > 0).fill_null(value=False)).alias("never_started")


def _with_run_times(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add ``run_time``: the elapsed time in the log, else the time from start to end."""
    never = pl.col("never_started")
    span = pl.col("end") - pl.col("start") - pl.col("suspended").fill_null(0)
    run_time = pl.coalesce(pl.when(never).then(0.0), "elapsed", span)
    jobs = jobs.with_columns(pl.when(~never).then("start").alias("start"), run_time.alias("run_time"))
    backwards = ((pl.col("end") < pl.col("start")) & (pl.col("elapsed") > 0)).fill_null(value=False)
    odd = jobs.filter(backwards)
    notes.add("mended", _FROM_ELAPSED, odd["line"], odd["job_id"])
    later = pl.col("start") + pl.col("elapsed") + pl.col("suspended").fill_null(0)
    jobs = jobs.with_columns(pl.when(backwards).then(later).otherwise("end").alias("end"))
    if reading.log_events:
        waited = pl.when(never).then(pl.col("end") - pl.col("submit"))
        jobs = with_ends(jobs.with_columns(waited.alias(CANCELLED_AFTER)))
        note_run_events(jobs, notes)
    else:
        jobs = jobs.drop(RUN_EVENTS)
        queued = jobs.filter("never_started")
        notes.add("mended", NEVER_STARTED, queued["line"], queued["job_id"])
    if reading.unfinished == "keep":
        alive = jobs.filter(~pl.col("ended"))
        notes.add("mended", _RUN_SO_FAR, alive["line"], alive["job_id"])
        so_far = pl.when(pl.col("ended")).then("run_time").otherwise(pl.col("elapsed").fill_null(0.0))
        jobs = jobs.with_columns(so_far.alias("run_time"), pl.when("ended").then("end").alias("end"))
    return jobs


def _with_requests(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add ``tasks``: the number of processors of each job."""
    first, second = ("requested", "allocated")
    if reading.processors == "allocated":
        first, second = second, first
    sound = [pl.when(pl.col(name) >= 1).then(name) for name in (first, second)]
    jobs = jobs.with_columns(pl.coalesce(sound).alias("tasks"))
    other = jobs.filter(sound[0].is_null() & pl.col("tasks").is_not_null())
    notes.add("mended", _OTHER_FIELD, other["line"], other["job_id"])
    return jobs


def _admitted(
    jobs: pl.DataFrame, log: OpenLog, header: Mapping[str, object], generic: Sequence[str]
) -> Workload:
    """Check the jobs like any table, and assemble the report."""
    name, notes, reading = log.name, log.notes, log.reading
    dropped = notes.table("dropped")
    if jobs.is_empty() and dropped.height:
        line, reason = dropped["line"][0], dropped["reason"][0]
        raise WorkloadError(
            f"{name}:{line}: {reason}, and none of {dropped.height:,} records is of a job that can be taken. "
            "Give a log of jobs that have ended."
        )
    origin = jobs["submit"].min()
    begin = math.floor(origin) if isinstance(origin, float) else 0
    amounts = [name for name in ("core", *(["mem"] if reading.use_memory else [])) if name in jobs.columns]
    table = jobs.select(*_columns(jobs, begin, [*amounts, *generic]))
    if reading.dependencies:
        table = with_dependency(table, jobs["line"], notes)
    table = with_begin_times(table)
    if reading.node_names:
        table = table.with_columns(names_of(jobs["node_list"].replace(_NO_NODES, None)))
    admitted, report, resources = admit(
        table,
        resources=amounts,
        overrun=reading.overrun,
        invalid=reading.invalid,
        source=name,
        lines=jobs["line"],
    )
    first = {"UnixStartTime": begin, "TimeZoneString": reading.timezone}
    dropped, mended, noted = notes.with_those_of(report)
    return Workload(
        admitted,
        Header.from_fields({**header, **first}),
        Report(
            source=name,
            read=admitted.height + dropped.height,
            kept=admitted.height,
            dropped=dropped,
            mended=mended,
            noted=noted,
            # A line may describe several tasks, and a remark on a time has no job.
            mended_jobs=max(mended[key].drop_nulls().n_unique() for key in ("line", "job_id")),
            skipped=notes.skipped,
            options={**reading.options, **log.options},
        ),
        resources,
    )


def _columns(jobs: pl.DataFrame, begin: int, amounts: Sequence[str]) -> list[pl.Expr | str]:
    """Return the columns of the workload: standard columns, requests, outcomes of jobs."""
    first = [*amounts, *(name for name in ("tasks_per_node", "exclusive") if name in jobs.columns)]
    known = {*_OWN, *_PARTS, *RECORD, "job_id", "run_time", "requested_time", "tasks", "attempts", *first}
    happened = [RUN_EVENTS] if RUN_EVENTS in jobs.columns and jobs[RUN_EVENTS].count() else []
    others = [each for each in jobs.columns if each not in known and not each.endswith("_text")]
    outcome = ["state", "status", "exit_code", "exit_signal", "cancelled_by", "logged_reason", "node_list"]
    asked = [each for each in others if each not in outcome]
    nodes = pl.col("node_list").replace(_NO_NODES, None)
    stood = pl.col("suspended").fill_null(0.0)
    waited = pl.when("never_started").then(pl.coalesce("start", "end")).otherwise("start")
    wait = (waited - pl.col("submit")).fill_null(-1.0)
    whole = pl.Int64
    return [
        pl.col("job_id"),
        (pl.col("submit") - begin).alias("submit_time"),
        pl.col("run_time"),
        pl.col("requested_time"),
        pl.col("tasks"),
        *([pl.col(TIME_LIMIT)] if TIME_LIMIT in jobs.columns else []),
        *first,
        pl.col("logged_id"),
        pl.col("requested").fill_null(-1).cast(whole, strict=False).alias("requested_processors"),
        pl.col("memory").fill_null(-1).alias("requested_memory"),
        *(pl.col(each) for each in ("user", "job_name", "partition", "queue") if jobs[each].count()),
        *(pl.col(each) for each in asked if jobs[each].count()),
        (pl.col("eligible") - begin).alias("eligible_time"),
        (pl.col("start") - begin).alias("start_time"),
        (pl.col("end") - begin).alias("end_time"),
        *([stood.alias("suspended_time")] if jobs.select((stood > 0).any()).item() else []),
        wait.alias("logged_wait_time"),
        pl.col("allocated").fill_null(-1).cast(whole, strict=False).alias("allocated_processors"),
        pl.col("state").str.to_lowercase(),
        pl.col("state").replace_strict(STATUS_OF, default=-1, return_dtype=whole).alias("status"),
        pl.col("attempts"),
        *happened,
        *(pl.col(each) for each in outcome[2:-1] if each in jobs.columns and jobs[each].count()),
        *([nodes] if jobs["node_list"].count() else []),
    ]


Row = Mapping[str, object]
"""The columns of one record by name; missing columns are unknown."""

_MORE: Mapping[str, pl.DataType] = {
    "group": pl.String(),
    "account": pl.String(),
    "qos": pl.String(),
    "constraint": pl.String(),
    "reservation": pl.String(),
    "application": pl.String(),
    "origin_site": pl.String(),
    "job_structure": pl.String(),
    "workflow": pl.String(),
    "logged_dependency": pl.String(),
    "requested_nodes": pl.Int64(),
    "requested_gpus": pl.Int64(),
    quantities.CHUNKS: pl.Float64(),
    quantities.MOST_PER_NODE: pl.Float64(),
    quantities.WHOLE: pl.Boolean(),
    quantities.MEMORY: pl.Float64(),
    "allocated_nodes": pl.Int64(),
    "exit_code": pl.Int64(),
    "exit_signal": pl.Int64(),
    "used_walltime": pl.Float64(),
    "used_memory": pl.Float64(),
    "average_cpu_time": pl.Float64(),
    "logged_reason": pl.String(),
    "run_site": pl.String(),
}
# The default value in a log in which other jobs have the column.
_USUAL: Mapping[str, float] = {
    "used_memory": -1.0,
    "average_cpu_time": -1.0,
}
_LARGEST = 2**53


def records_of_rows(rows: Iterable[Row]) -> pl.DataFrame:
    """Convert records to a table.

    Parameters
    ----------
    rows
        The records in the order of lines. The ``memory`` per processor is its share of the memory of the job
        (`chunks.MEMORY`), rounded up.

    Returns
    -------
    polars.DataFrame
        The columns of `batchlab.workload.logs.jobs.RECORD`, and those of requests and outcomes that any
        record has. If only some jobs have a value for used resources, the others get -1.
    """
    known = list(rows)
    schema = {**RECORD, **_MORE}
    table = pl.DataFrame(
        {
            name: pl.Series([row.get(name) for row in known], dtype=dtype, strict=False)
            for name, dtype in schema.items()
        }
    )
    processors = pl.coalesce(pl.when(pl.col(name) >= 1).then(name) for name in ("requested", "allocated"))
    of_one = (pl.col(quantities.MEMORY) / processors).ceil()
    table = table.with_columns(pl.coalesce("memory", of_one).alias("memory"))
    if (table["requested_gpus"] > 0).any():
        table = table.with_columns(pl.col("requested_gpus").cast(pl.Float64).alias(f"{ASKED}gpu"))
    said = [name for name, usual in _USUAL.items() if (table[name].fill_null(usual) != usual).any()]
    table = table.with_columns(pl.col(name).fill_null(_USUAL[name]) for name in said)
    return table.drop(name for name in _USUAL if name not in said)


def number(text: str) -> float | None:
    """Parse a number; None for other texts, and for numbers that are not finite or beyond 2^53.

    Beyond 2^53, floats are further apart than 1. Underscores are invalid in logs, although Python accepts
    them.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if is_in_bounds(value) and "_" not in text else None


def is_in_bounds(value: float) -> bool:
    """Return whether a number is finite and within ±2^53."""
    return -_LARGEST <= value <= _LARGEST


def amount(text: str | None) -> float | None:
    """Parse a number >= 0; None for other texts (as for `number`) and for None."""
    value = None if text is None else number(text)
    return value if value is not None and value >= 0 else None


def instant(text: str) -> float | None:
    """Parse seconds since 1970; None for 0 and for other texts."""
    seconds = number(text)
    return seconds if seconds is not None and seconds > 0 else None


def whole(text: str) -> int | None:
    """Parse a number and return its whole part; None for other texts (as for `number`)."""
    value = number(text)
    return None if value is None else int(value)
