"""The Standard Workload Format 2.2, the format of the Parallel Workloads Archive: reader and writer.

Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999. The
kernel parses; the reader provides the bytes and reports the result.
"""

import gzip
import inspect
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core.outputs import output
from batchlab.core.vocabulary import GENERATOR, InvalidAction, OverrunAction, ProcessorField
from batchlab.errors import WorkloadError
from batchlab.workload import reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.formats import FURTHER_FIELDS, beginning, warn_of_data_set
from batchlab.workload.header import Header
from batchlab.workload.log_options import check_reading
from batchlab.workload.packing import is_plain_or_gzip, unpacked
from batchlab.workload.report import Report, read_out
from batchlab.workload.run_events import CANCELLED_AFTER
from batchlab.workload.source import LogSource, name_of, not_readable, opened, pieces
from batchlab.workload.validation import NEXT_STEP
from batchlab.workload.workload import Workload, check_workload

if TYPE_CHECKING:
    from batchlab._kernel import SwfColumns, SwfReading


_MOST_JOBS = 2**63 - 1
_NO_JOB = -(2**63)
_BEGINNING = 1 << 16
_NOT_A_LOG = (reasons.LINE_TOO_LONG, reasons.TOO_FEW_FIELDS, reasons.JOB_NUMBER)


def read_swf(
    source: LogSource,
    *,
    overrun: OverrunAction = "extend",
    invalid: InvalidAction = "drop",
    processors: ProcessorField = "requested",
    use_memory: bool = False,
    max_jobs: int | None = None,
    start_time: float | None = None,
    log_events: bool = True,
) -> Workload:
    """Read a log in the Standard Workload Format.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    overrun
        How to treat jobs that ran longer than requested: ``"extend"`` raises the requested time, which
        schedulers plan with, and keeps the limit in the column ``time_limit``; ``"cut"`` cuts the run time;
        ``"keep"`` keeps both.
    invalid
        ``"drop"`` drops jobs that break a rule and lists them in the report; ``"raise"`` raises.
    processors
        Whether ``tasks`` is the number of ``"requested"`` (field 8) or ``"allocated"`` (field 5) processors;
        if one is unknown (negative), the other is used.
    use_memory
        Whether tasks request memory: column ``mem``, kB per processor, from field 10, else 7, else 0.
    max_jobs
        Maximum number of jobs to keep.
    start_time
        The origin of the log's times, in seconds since 1970 UTC; by default that in the header. It becomes
        ``header.unix_start_time``.

    log_events
        Whether jobs that were cancelled before they started (status 5 without a run) wait until they are
        cancelled: their column ``cancelled_after`` is the logged wait. Jobs without a wait are dropped and
        listed in the report. If False, such jobs run for their logged run time.

    Returns
    -------
    Workload
        With the columns ``job_id``, ``submit_time``, ``run_time``, ``requested_time``, ``tasks``,
        ``time_limit`` with ``overrun="extend"``, ``mem`` with ``use_memory=True``, and the remaining fields
        of the log (-1 if unknown): ``logged_wait_time``, ``allocated_processors``, ``average_cpu_time``,
        ``used_memory``, ``requested_processors``, ``requested_memory``, ``status``, ``user_id``,
        ``group_id``, ``application_id``, ``queue_id``, ``partition_id``, ``preceding_job_id``,
        ``think_time``. Times in seconds, memory in kB.

        Partial executions of a job (status 2 to 4) are one job: the line that summarises them, else their
        sum.

    Raises
    ------
    WorkloadError
        If the source cannot be read or has no valid line; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> read_swf(["; MaxProcs: 8", "1 0 -1 60 4 -1 -1 4 100 -1 1 1 1 -1 1 -1 -1 -1"])
    Workload of 1 job submitted over 0 s, of 4 tasks
      8 processors
      lines: 1 job read, kept as it is
    """
    options: SwfReading = {
        "overrun": overrun,
        "invalid": invalid,
        "processors": processors,
        "use_memory": use_memory,
        "log_events": log_events,
        "max_jobs": max_jobs,
    }
    check_reading(options)
    options["max_jobs"] = None if max_jobs is None else min(max_jobs, _MOST_JOBS)
    name = name_of(source)
    begin: list[bytes] = []
    if isinstance(source, str | os.PathLike):
        log = (_read_file if is_plain_or_gzip(name) else _read_packed)(name, options)
    else:
        log = _read_pieces(source, name, options, begin)
    workload = workload_of_log(log, name, ("mem",) if use_memory else ())
    usual = inspect.signature(read_swf).parameters
    given = {each: value for each, value in options.items() if value != usual[each].default}
    workload = replace(workload, report=replace(workload.report, options=given))
    if (workload.report.mended["reason"] == reasons.EXTRA_FIELDS).any():
        known = begin[0] if begin else beginning(Path(name))
        warn_of_data_set(known, source, FURTHER_FIELDS)
    return workload if start_time is None else workload.starting_at(start_time)


def _read_file(name: str, options: "SwfReading") -> "SwfColumns":
    log = _kernel.SwfLog(options)
    try:
        log.read(name)
    except OSError as error:
        raise not_readable(name, error) from error
    except ValueError as error:
        raise _explained(error, name) from error
    return log.columns()


def _read_packed(name: str, options: "SwfReading") -> "SwfColumns":
    with opened(name, name) as file:
        return _read_pieces(file, name, options)


def _read_pieces(
    source: object, name: str, options: "SwfReading", begin: list[bytes] | None = None
) -> "SwfColumns":
    """Parse a log in chunks; ``begin`` receives the first."""
    log = _kernel.SwfLog(options)
    for piece in unpacked(pieces(source, name), name, behind=log.note_trailing_bytes):
        if begin is not None and not begin:
            begin.append(piece[:_BEGINNING])
        try:
            wanted = log.feed(piece)
        except ValueError as error:
            raise _explained(error, name) from error
        if not wanted:
            break
    try:
        log.finish()
    except ValueError as error:
        raise _explained(error, name) from error
    return log.columns()


def _explained(error: ValueError, name: str) -> WorkloadError:
    """Convert the kernel's ``ValueError(line, message)``."""
    line, message = error.args if len(error.args) == 2 else (None, str(error))  # noqa: PLR2004
    if line is None:
        return WorkloadError(f"{name}: {message}. Get the file anew, or unpack what is left of it.")
    return WorkloadError(f"{name}:{line}: {message}. {NEXT_STEP}")


def workload_of_log(log: "SwfColumns", name: str, resources: tuple[str, ...]) -> Workload:
    """Convert the log parsed by the kernel to a workload; ``resources`` are the requests per task."""
    jobs = pl.DataFrame(log["columns"])
    if CANCELLED_AFTER in jobs.columns:
        jobs = jobs.with_columns(pl.col(CANCELLED_AFTER).fill_nan(None))
    header = Header(tuple(log["comments"]))
    notes = _notes(log, jobs)
    report = Report(
        source=name,
        read=log["rows"],
        kept=jobs.height,
        dropped=read_out(notes, "dropped"),
        mended=read_out(notes, "mended"),
        noted=read_out(notes, "noted"),
        announced=header.max_records,
        stopped_at=log["lines"] if log["done"] else None,
        unlisted=_unlisted(log),
        mended_jobs=log["mended_jobs"],
        skipped={reasons.PARTS: log["parts"]} if log["parts"] else {},
    )
    if report.read and not report.kept and report.dropped["reason"].is_in(_NOT_A_LOG).all():
        line, reason = report.dropped["line"][0], report.dropped["reason"][0]
        raise WorkloadError(
            f"{name}:{line}: {reason}, and none of {report.read:,} lines is a job. Give a log in the "
            "Standard Workload Format: 18 numbers a line, comments after ';'; tables are known by "
            "their first line, and in pipes by names that end in .csv or .parquet."
        )
    return Workload(jobs, header, report, resources)


def _unlisted(log: "SwfColumns") -> dict[str, int]:
    """Return the number of remarks by reason that the kernel counted without storing them."""
    kept = np.bincount(log["note_reason"], minlength=len(log["reasons"]))
    more = np.array(log["note_count"]) - kept
    return {text: int(count) for (_, text), count in zip(log["reasons"], more, strict=True) if count}


def _notes(log: "SwfColumns", jobs: pl.DataFrame) -> pl.DataFrame:
    """Convert the kernel's remarks to text, and add those on the whole workload."""
    outcomes, texts = zip(*log["reasons"], strict=True)
    number = pl.Series(log["note_reason"])
    job_id = pl.Series("job_id", log["note_job_id"])
    notes = pl.DataFrame(
        {
            "reason": pl.Series(texts).gather(number),
            "line": log["note_line"],
            "job_id": job_id.set(job_id == _NO_JOB, None),
            "outcome": pl.Series(outcomes).gather(number),
        }
    )
    repeated = ~jobs["job_id"].is_first_distinct()
    if not repeated.any():
        return notes
    more = pl.DataFrame({"line": log["line"], "job_id": jobs["job_id"]}).filter(repeated)
    more = more.select(
        pl.lit(reasons.REPEATED_JOB).alias("reason"), "line", "job_id", pl.lit("noted").alias("outcome")
    )
    return pl.concat([notes, more]).sort("line", maintain_order=True)


_CANCELLED = 5

_FIELDS = (
    *("job_id", "submit_time", "logged_wait_time", "run_time", "allocated_processors"),
    *("average_cpu_time", "used_memory", "requested_processors", "requested_time", "requested_memory"),
    *("status", "user_id", "group_id", "application_id", "queue_id", "partition_id"),
    *("preceding_job_id", "think_time"),
)
_UNKNOWN = "-1"
_LARGEST_EXACT = 2**53
_ROWS_AT_ONCE = 100_000
# Job numbers are int64, and therefore exact.
_IDENTIFIERS = ("job_id", "preceding_job_id")
# True if a reader with overrun="extend" restores the requested time from the limit.
_RAISED = pl.col("requested_time") == pl.max_horizontal(TIME_LIMIT, "run_time")


def write_swf(workload: Workload, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a workload as a log in the Standard Workload Format, atomically.

    The header comes first, unchanged (without a header, only the format's version), then the comment
    ``Generator: batchlab``, which marks files of batchlab. Reading the file with `read_swf` and the same
    arguments returns an equal table. The field of the requested time is the ``time_limit`` if reading raises
    it to the ``requested_time``, else the ``requested_time``; an infinite value is written as unknown. Fields
    without a numeric column are written as -1 (unknown); columns without a field are listed in a comment.

    Parameters
    ----------
    workload
        The workload. The processors of a job are its ``tasks``; with a resource ``core``, they are the
        smallest number of processors with the total request, according to ``header.processor`` (by default
        one core). The columns ``requested_processors`` and ``allocated_processors`` are written unchanged if
        they agree with ``tasks``. Memory is ``requested_memory``, else the resource ``mem``, in kB per
        processor, rounded up.
    path
        The file; with the suffix ``.gz`` it is compressed.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the workload is never replaced.

    Raises
    ------
    OutputError
        If the file is the one that the workload was read from, or one that batchlab did not write.
    WorkloadError
        If a number is beyond 2^53, where float64 is not exact.
    OSError
        If the file cannot be written.
    """
    check_workload(workload)
    fields, lost = _fields(workload)
    head = [_comment(line) for text in workload.header.lines for line in text.split("\n")] or [
        "; Version: 2.2"
    ]
    head.append(f"; {GENERATOR}")
    if lost:
        head.append(f"; Note: columns without a field in this format: {', '.join(lost)}".replace("\n", " "))
    _check_exact(workload.jobs, fields)
    with output(path, "wb", inputs=workload.sources, overwrite=overwrite) as file:
        if not os.fspath(path).endswith(".gz"):
            _write(file, head, workload.jobs, fields)
            return
        # Without a name and a time stamp in it, equal workloads give equal bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            _write(packed, head, workload.jobs, fields)


def _write(
    file: IO[bytes] | gzip.GzipFile, head: Sequence[str], jobs: pl.DataFrame, fields: Mapping[str, pl.Expr]
) -> None:
    file.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in head)
    file.writelines(_blocks(jobs, fields))


def _comment(line: str) -> str:
    return line if line.lstrip(" \t\r\v\f").startswith(";") else f"; {line}"


def _fields(workload: Workload) -> tuple[dict[str, pl.Expr], list[str]]:
    """Return the columns to write by field, and the names of columns without a field."""
    jobs = workload.jobs
    fields = {
        name: pl.col(name) for name in _FIELDS if name in jobs.columns and jobs.schema[name].is_numeric()
    }
    written = {*fields, "tasks"}
    if CANCELLED_AFTER in jobs.columns:
        fields |= _of_cancelled(fields)
        written.add(CANCELLED_AFTER)
    if TIME_LIMIT in jobs.columns:
        fields["requested_time"] = pl.when(_RAISED).then(TIME_LIMIT).otherwise("requested_time")
        if jobs.select((_RAISED | (pl.col(TIME_LIMIT) == pl.col("requested_time"))).all()).item():
            written.add(TIME_LIMIT)
    if "requested_memory" not in fields and "mem" in workload.resources:
        fields["requested_memory"] = _memory_of_processors(workload)
        written.add("mem")
    fields["requested_processors"] = _processors(workload, fields)
    return fields, [name for name in jobs.columns if name not in written]


def _of_cancelled(fields: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Return wait and status of each job, including jobs that were cancelled before they started."""
    cancelled = pl.col(CANCELLED_AFTER).is_not_null()
    wait, status = (fields.get(name, pl.lit(-1)) for name in ("logged_wait_time", "status"))
    return {
        "logged_wait_time": pl.when(cancelled).then(CANCELLED_AFTER).otherwise(wait),
        "status": pl.when(cancelled).then(pl.lit(_CANCELLED)).otherwise(status),
    }


def _processors(workload: Workload, fields: dict[str, pl.Expr]) -> pl.Expr:
    tasks = pl.col("tasks")
    processors = _asked_processors(workload) if "core" in workload.resources else tasks
    if "requested_processors" not in fields:
        return processors
    agrees = fields["requested_processors"] == tasks
    if "allocated_processors" in fields:
        agrees |= fields["allocated_processors"] == tasks
    if "exclusive" in workload.jobs.columns:
        # The tasks of such a job are nodes; its processors have their own column.
        agrees |= pl.col("exclusive")
    return pl.when(agrees).then(fields["requested_processors"]).otherwise(processors)


def _asked_processors(workload: Workload) -> pl.Expr:
    """Return the number of processors that contain the total request of all tasks."""
    asked = [
        (pl.col("tasks") * pl.col(name) + (amount - 1)) // amount
        for name, amount in workload.header.processor.items()
        if name in workload.resources
    ]
    return pl.max_horizontal(*asked, 1)


def _memory_of_processors(workload: Workload) -> pl.Expr:
    """Return the memory of all tasks per processor, rounded up."""
    if "core" not in workload.resources:
        return pl.col("mem")
    processors = _asked_processors(workload)
    return (pl.col("mem") * pl.col("tasks") + (processors - 1)) // processors


def _check_exact(jobs: pl.DataFrame, fields: Mapping[str, pl.Expr]) -> None:
    largest = jobs.select(
        expression.cast(pl.Float64).replace(math.inf, None).abs().max().alias(name)
        for name, expression in fields.items()
        if not (name in _IDENTIFIERS and jobs.schema[name].is_integer())
    )
    for name in largest.columns:
        value = largest[name][0]
        if value is not None and value > _LARGEST_EXACT:
            raise WorkloadError(
                f"{name} = {value:g}; the format's numbers must be within 2^53. Filter or scale it first."
            )


def _blocks(jobs: pl.DataFrame, fields: Mapping[str, pl.Expr]) -> Iterator[bytes]:
    texts = [_text(fields[name], jobs) if name in fields else pl.lit(_UNKNOWN) for name in _FIELDS]
    lines = pl.concat_str(texts, separator=" ").str.join("\n")
    for block in jobs.iter_slices(_ROWS_AT_ONCE):
        yield f"{block.select(lines).item()}\n".encode()


def _text(expression: pl.Expr, jobs: pl.DataFrame) -> pl.Expr:
    """Format numbers so that reading restores them: whole ones without a point, unknown ones as -1."""
    if jobs.head(0).select(expression).dtypes[0].is_integer():
        return expression.cast(pl.String).fill_null(_UNKNOWN)
    real = expression.cast(pl.Float64)
    whole = real.floor() == real
    text = (
        pl.when(whole).then(real.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(real.cast(pl.String))
    )
    return pl.when(real.is_finite()).then(text).otherwise(pl.lit(_UNKNOWN)).fill_null(_UNKNOWN)
