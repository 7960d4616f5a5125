"""The writer of the Standard Workload Format 2.2."""

import gzip
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import polars as pl

from batchlab.core.outputs import output
from batchlab.core.vocabulary import GENERATOR
from batchlab.errors import WorkloadError
from batchlab.workload.cancellation import CANCELLED_AFTER
from batchlab.workload.given import check_workload
from batchlab.workload.time_limits import TIME_LIMIT
from batchlab.workload.workload import Workload

__all__ = ["write_swf"]

_CANCELLED = 5

_FIELDS = (
    "job_id",
    "submit_time",
    "logged_wait_time",
    "run_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user_id",
    "group_id",
    "application_id",
    "queue_id",
    "partition_id",
    "preceding_job_id",
    "think_time",
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
