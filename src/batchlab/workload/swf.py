"""The reader of the Standard Workload Format 2.2, the format of the Parallel Workloads Archive.

Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999. The
kernel parses; this module provides the bytes and reports the result.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.vocabulary import (
    InvalidAction,
    OverrunAction,
    ProcessorField,
)
from batchlab.errors import WorkloadError
from batchlab.workload import reasons
from batchlab.workload.cancellation import CANCELLED_AFTER
from batchlab.workload.formats import FURTHER_FIELDS, beginning, warn_of_data_set
from batchlab.workload.header import Header
from batchlab.workload.log_options import check_reading
from batchlab.workload.packing import is_plain_or_gzip, unpacked
from batchlab.workload.report import Report, read_out
from batchlab.workload.source import name_of, opened, pieces
from batchlab.workload.validation import NEXT_STEP
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from batchlab._kernel import SwfColumns

__all__ = ["read_swf", "workload_of_log"]

_MOST_JOBS = 2**63 - 1
_USUAL: Mapping[str, object] = {
    "overrun": "extend",
    "invalid": "drop",
    "processors": "requested",
    "use_memory": False,
    "log_events": True,
    "max_jobs": None,
}
"""The defaults of `read_swf`."""
_NO_JOB = -(2**63)
_BEGINNING = 1 << 16
_NOT_A_LOG = (reasons.LINE_TOO_LONG, reasons.TOO_FEW_FIELDS, reasons.JOB_NUMBER)


def read_swf(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
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
    options = {
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
    given = {each: value for each, value in options.items() if value != _USUAL[each]}
    workload = replace(workload, report=replace(workload.report, options=given))
    if (workload.report.mended["reason"] == reasons.EXTRA_FIELDS).any():
        known = begin[0] if begin else beginning(Path(name))
        warn_of_data_set(known, source, FURTHER_FIELDS)
    return workload if start_time is None else workload.starting_at(start_time)


def _limit(max_jobs: int | None) -> int | None:
    count = rules.check(WorkloadError, "max_jobs", max_jobs, rules.Optional(rules.WHOLE))
    return None if count is None else min(count, _MOST_JOBS)


def _read_file(name: str, options: dict[str, Any]) -> "SwfColumns":
    try:
        return _kernel.read_swf_file(name, **options)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkloadError(
            f"{name}: cannot be read: {reason}. Give the path of a log, plain or packed."
        ) from error
    except ValueError as error:
        raise _explained(error, name) from error


def _read_packed(name: str, options: dict[str, Any]) -> "SwfColumns":
    with opened(name, name) as file:
        return _read_pieces(file, name, options)


def _read_pieces(
    source: object, name: str, options: dict[str, Any], begin: list[bytes] | None = None
) -> "SwfColumns":
    """Parse a log in chunks; ``begin`` receives the first."""
    parser = _kernel.SwfParser(**options)
    for piece in unpacked(pieces(source, name), name, behind=parser.note_trailing_bytes):
        if begin is not None and not begin:
            begin.append(piece[:_BEGINNING])
        try:
            wanted = parser.feed(piece)
        except ValueError as error:
            raise _explained(error, name) from error
        if not wanted:
            break
    try:
        return parser.finish()
    except ValueError as error:
        raise _explained(error, name) from error


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
