"""The reader of what Slurm's sacct writes."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.vocabulary import InvalidAction, OverrunAction, ProcessorField
from batchlab.workload.logs import quantities, sacct_rows
from batchlab.workload.logs.clock import instants, settled
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.numbers import is_step
from batchlab.workload.logs.reading import YEAR, Reading, RequeueAction, UnfinishedAction
from batchlab.workload.source import text_of
from batchlab.workload.workload import Workload

__all__ = ["read_sacct"]

_TIMES = ("submit", "eligible", "start", "end")
_TEXTS = {
    "jobname": "job_name",
    "user": "user",
    "group": "group",
    "account": "account",
    "qos": "qos",
    "partition": "partition",
    "cluster": "cluster",
    "reservation": "reservation",
    "reason": "logged_reason",
    "nodelist": "node_list",
}
_WHOLE = {"uid": "user_id", "gid": "group_id"}
_NEEDED = {
    "a number": ("jobid", "jobidraw"),
    "the submission": ("submit",),
    "the start": ("start",),
    "the end": ("end", "elapsed", "elapsedraw"),
    "the state": ("state",),
    "the processors": ("ncpus", "alloccpus", "reqcpus", "reqtres", "alloctres"),
    "the time limit": ("timelimit", "timelimitraw"),
}
_OTHERS = ("suspended", "nnodes", "allocnodes", "reqnodes", "reqmem", "exitcode")
_WANTED = (*dict.fromkeys(name for names in _NEEDED.values() for name in names), "eligible")
_WANTED += (*_TEXTS, *_WHOLE, *_OTHERS)
_SHIFTED = "local time that the clocks skipped: read by the offset of the day before"
_NO_TIME = "is no time: taken as unknown"


def read_sacct(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
    *,
    timezone: str = "UTC",
    time_format: str | None = None,
    delimiter: str = "|",
    fields: Sequence[str] | None = None,
    overrun: OverrunAction = "extend",
    invalid: InvalidAction = "drop",
    processors: ProcessorField = "requested",
    use_memory: bool = False,
    requeues: RequeueAction = "join",
    unfinished: UnfinishedAction = "drop",
    unlimited: float | Mapping[str, float] = YEAR,
) -> Workload:
    """Read a dump of ``sacct --parsable2`` or ``--parsable``, with any fields that say what a job is.

    Needed are JobID or JobIDRaw; Submit; Start; End, Elapsed or ElapsedRaw; State; one of ReqCPUS, NCPUS,
    AllocCPUS, ReqTRES, AllocTRES; and Timelimit or TimelimitRaw.

    Parameters
    ----------
    source
        A path, an open file (text or binary; gzip is known by its content), or an iterable of lines.
    timezone
        Whose clock the times show, as ``"Europe/Berlin"``; those in seconds since 1970 and those with an
        offset need none. Of a time that was there twice when the clocks were put back, the first is taken,
        unless the order of submission, start and end or the elapsed time say that it was the second; one
        that the clocks skipped is read by the offset of the day before.
    time_format
        How times are written (``SLURM_TIME_FORMAT``), where that is neither ISO 8601 nor ``%s``.
    delimiter
        What ends a field (``--delimiter``).
    fields
        The names of the fields, where the dump has no header (``--noheader``).
    overrun, invalid
        As for `read_swf`.
    processors
        Whether ``tasks`` are the processors that were ``"requested"`` or ``"allocated"``; where one is
        unknown the other is taken.
    use_memory
        Whether tasks ask for memory: column ``mem``, kB per processor, from ReqMem or ReqTRES, else 0.
    requeues
        ``"join"`` makes one job of the records of a job that was requeued, from its first submission to its
        last end; ``"each"`` makes every record a job, of the same number.
    unfinished
        ``"drop"`` leaves out jobs that wait or run still; ``"keep"`` takes the time that they ran so far.
    unlimited
        What ``UNLIMITED`` and ``Partition_Limit`` stand for, in seconds; or that by partition.

    Returns
    -------
    Workload
        One row per job, in the order of submission; the first submission is the origin, and
        ``header.unix_start_time`` says when it was. What was asked for is in the columns of any workload and
        in ``logged_id``, ``requested_processors``, ``requested_memory`` (kB per processor, -1: unknown),
        ``requested_nodes``, ``requested_gpus``, ``user``, ``user_id``, ``group``, ``group_id``, ``account``,
        ``qos``, ``partition``, ``reservation`` and ``job_name``, as far as the dump has them. What became of
        the jobs, which schedulers are not shown, is in ``start_time``, ``end_time`` and ``eligible_time``
        (seconds since the origin; null: none), ``logged_wait_time``, ``state``, ``status``, ``attempts``,
        ``exit_code``, ``exit_signal``, ``cancelled_by``, ``allocated_processors``, ``allocated_nodes``,
        ``node_list`` and ``logged_reason``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or its header lacks what is needed, or no record is of a job that
        ended; with ``invalid="raise"``, at the first job that breaks a rule.

    Examples
    --------
    >>> dump = ["JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw", "7|100|160|220|COMPLETED|4|5"]
    >>> read_sacct(dump).jobs.select("job_id", "run_time", "requested_time", "tasks").row(0)
    (7, 60.0, 300.0, 4)
    """
    reading = Reading(
        timezone, time_format, overrun, invalid, processors, use_memory, requeues, unfinished, unlimited
    )
    if not isinstance(delimiter, str) or not delimiter or delimiter.isspace():
        raise WorkloadError(f"delimiter = {shown(delimiter)}; must be text that ends a field, as '|'.")
    name, text = text_of(source)
    notes = Notes()
    table = _table(text, name, delimiter, fields, notes)
    return workload_of(_records(table, notes, reading), name, notes, reading, _header(table))


def _table(text: str, name: str, delimiter: str, given: Sequence[str] | None, notes: Notes) -> pl.DataFrame:
    """Give the text of the fields of each job, whatever sacct calls them."""
    place, line, rest = _first_line(text)
    if given is not None:
        head, body, first = delimiter.join(given), text, 1
        if line.rstrip().endswith(delimiter):
            head += delimiter
    else:
        head, body, first = line, rest, place + 1
    fields = sacct_rows.fields_of(head, name, place, delimiter)
    for what, names in _NEEDED.items():
        if not any(each in fields.names for each in names):
            raise WorkloadError(
                f"{name}:{place}: no field for {what} ({' or '.join(names)}) among {shown(head[:300])}. "
                f"Write the dump by: {sacct_rows.COMMAND}"
            )
    table = sacct_rows.table_of(body, first, fields, _WANTED, notes)
    number = "jobid" if "jobid" in fields.names else "jobidraw"
    again = (pl.col(number).str.to_lowercase() == number).fill_null(value=False)
    steps, headers = table.select(is_step(number).sum().alias("steps"), again.sum().alias("headers")).row(0)
    notes.skip("steps of jobs", steps)
    notes.skip("headers again", headers)
    table = table.filter(~is_step(number) & ~again)
    return table.with_columns(
        pl.lit(None, pl.String).alias(each) for each in _WANTED if each not in table.columns
    )


def _first_line(text: str) -> tuple[int, str, str]:
    """Give the number of the first line that is not blank, the line, and what follows."""
    rest, place = text, 0
    while rest:
        place += 1
        line, _, rest = rest.partition("\n")
        if line.strip():
            return place, line.rstrip("\r"), rest
    return place or 1, "", ""


def _records(table: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Give the records of jobs in the columns that the logs of all systems share."""
    table = table.with_columns(
        pl.coalesce("jobid", "jobidraw").alias("logged_id"),
        pl.col("jobidraw").str.strip_chars().cast(pl.Int64, strict=False).alias("raw"),
        pl.coalesce(
            pl.col("elapsedraw").str.strip_chars().cast(pl.Float64, strict=False),
            quantities.duration(pl.col("elapsed")),
        ).alias("ran"),
        quantities.duration(pl.col("suspended")).alias("stood"),
    )
    read = {name: instants(table[name], reading.timezone, reading.time_format) for name in _TIMES}
    for found in read.values():
        notes.add("mended", _SHIFTED, table["line"].filter(found.skipped))
    for name in _TIMES[1:]:
        notes.add("mended", f"{name} {_NO_TIME}", table["line"].filter(read[name].unreadable))
    span = table["ran"] + table["stood"].fill_null(0.0)
    submit, start, end = settled(read["submit"], read["start"], read["end"], span)
    requested_nodes, allocated_nodes = _nodes()
    return table.select(
        "line",
        "logged_id",
        "raw",
        submit.alias("submit"),
        pl.col("submit").alias("submit_text"),
        read["eligible"].early.alias("eligible"),
        start.alias("start"),
        end.alias("end"),
        pl.col("end").alias("end_text"),
        pl.col("ran").alias("elapsed"),
        pl.col("stood").alias("suspended"),
        _limit().alias("limit"),
        pl.col("state"),
        pl.col("state").alias("state_text"),
        *(part.alias(column) for part, column in zip(_processors(), ("requested", "allocated"), strict=True)),
        _memory().alias("memory"),
        *(pl.col(name).str.strip_chars().replace("", None).alias(new) for name, new in _TEXTS.items()),
        *(
            pl.col(name).str.strip_chars().cast(pl.Int64, strict=False).alias(new)
            for name, new in _WHOLE.items()
        ),
        requested_nodes.cast(pl.Int64, strict=False).alias("requested_nodes"),
        allocated_nodes.cast(pl.Int64, strict=False).alias("allocated_nodes"),
        _gpus().cast(pl.Int64, strict=False).alias("requested_gpus"),
        *_ends(),
    )


def _limit() -> pl.Expr:
    """Give the time limit in seconds, infinite where there was none of its own."""
    minutes = pl.col("timelimitraw").str.strip_chars().cast(pl.Float64, strict=False)
    clock = quantities.duration(pl.col("timelimit"))
    words = ["UNLIMITED", "PARTITION_LIMIT", "INFINITE"]
    free = pl.any_horizontal(
        pl.col(name).str.strip_chars().str.to_uppercase().is_in(words).fill_null(value=False)
        for name in ("timelimit", "timelimitraw")
    )
    return pl.coalesce(minutes * 60, clock, pl.when(free).then(math.inf))


def _processors() -> tuple[pl.Expr, pl.Expr]:
    """Give the processors that were requested, and those that were allocated."""
    requested = pl.coalesce(
        quantities.count(pl.col("reqcpus")),
        quantities.count(quantities.resource(pl.col("reqtres"), "cpu")),
    )
    allocated = pl.coalesce(
        quantities.count(pl.col("alloccpus")),
        quantities.count(quantities.resource(pl.col("alloctres"), "cpu")),
        quantities.count(pl.col("ncpus")),
    )
    return requested, allocated


def _nodes() -> tuple[pl.Expr, pl.Expr]:
    requested = pl.coalesce(
        quantities.count(pl.col("reqnodes")),
        quantities.count(quantities.resource(pl.col("reqtres"), "node")),
    )
    allocated = pl.coalesce(
        quantities.count(quantities.resource(pl.col("alloctres"), "node")),
        quantities.count(pl.col("allocnodes")),
        quantities.count(pl.col("nnodes")),
    )
    return requested, allocated


def _memory() -> pl.Expr:
    """Give the requested memory in kB of a processor, rounded up.

    Older versions write for what it is; newer ones, for the job.
    """
    amount, kind = quantities.memory(pl.col("reqmem"))
    of_job, _ = quantities.memory(quantities.resource(pl.col("reqtres"), "mem"))
    processors = pl.coalesce(*(pl.when(each >= 1).then(each) for each in _processors()))
    requested, allocated = _nodes()
    nodes = pl.coalesce(*(pl.when(each >= 1).then(each) for each in (allocated, requested)))
    shared = pl.when(kind == "N").then(amount * nodes).otherwise(amount)
    return pl.coalesce(
        pl.when(kind == "C").then(amount).otherwise(shared / processors), of_job / processors
    ).ceil()


def _gpus() -> pl.Expr:
    whole = quantities.count(quantities.resource(pl.col("reqtres"), "gres/gpu"))
    kinds = (
        pl.col("reqtres")
        .str.extract_all(r"gres/gpu:[^=,]+=\d{1,9}")
        .list.eval(pl.element().str.extract(r"=(\d+)$").cast(pl.Int64))
    )
    return pl.coalesce(whole, pl.when(kinds.list.len() > 0).then(kinds.list.sum()))


def _ends() -> list[pl.Expr]:
    """Give how jobs ended: the exit code, the signal, and the number of the user that cancelled them."""
    parts = pl.col("exitcode").str.strip_chars().str.extract_groups(r"^(\d{1,9}):(\d{1,9})$").struct
    by = pl.col("state").str.extract(r"by (\d{1,18})")
    return [
        parts.field("1").cast(pl.Int64).alias("exit_code"),
        parts.field("2").cast(pl.Int64).alias("exit_signal"),
        by.cast(pl.Int64, strict=False).alias("cancelled_by"),
    ]


def _header(table: pl.DataFrame) -> dict[str, object]:
    clusters = table["cluster"].drop_nulls().unique(maintain_order=True).to_list()
    return {"Computer": ", ".join(clusters)} if clusters else {}
