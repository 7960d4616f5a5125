"""The attributes of PBS's records of jobs, read as times, amounts and names."""

import math
import re
from collections.abc import Callable, Mapping

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.logs.clock import SHIFTED, Instants, instants, settled
from batchlab.workload.logs.log import Log

__all__ = ["ATTRIBUTES", "WANTED", "records_of"]

_DATE = "%m/%d/%Y %H:%M:%S"
ATTRIBUTES = (
    *(
        "ctime",
        "qtime",
        "etime",
        "start",
        "end",
        "user",
        "group",
        "account",
        "account_name",
        "project",
        "queue",
        "jobname",
        "resvname",
        "depend",
    ),
    *("exec_host", "exec_vnode", "total_execution_slots", "unique_node_count", "Exit_status"),
    *("Resource_List.ncpus", "Resource_List.procs", "Resource_List.nodes", "Resource_List.select"),
    *("Resource_List.nodect", "Resource_List.mem", "Resource_List.pmem", "Resource_List.walltime"),
    *("Resource_List.ngpus", "resources_used.walltime", "resources_used.mem", "resources_used.cput"),
)
"""The attributes that are made use of."""

WANTED = ("number", "line", "kind", "queued", "started", "ended", "deleted", *ATTRIBUTES)
"""These, and what is said of each run besides."""

_WHOLE = {
    "Resource_List.nodect": "requested_nodes",
    "unique_node_count": "allocated_nodes",
    "Resource_List.ngpus": "requested_gpus",
}
_TIMES = ("qtime", "ctime", "queued", "start", "started", "end", "ended")
_NEVER = pl.col("start").is_null() & pl.col("started").is_null()
_TERMINATED = (271, 265)
"""Exit statuses of jobs ended by SIGTERM or SIGKILL: 256 and the signal."""
_SIGNALS = 256
_MOST_CHUNKS = 10_000
_LARGEST = 2**53


def records_of(table: pl.DataFrame, log: Log) -> pl.DataFrame:
    """Give the records of jobs in the columns that the logs of all systems share.

    Parameters
    ----------
    table
        A row for each run or wait, with `WANTED` as text: attributes, and ``number``, ``line``, ``kind``
        (that of its last record), ``queued``, ``started``, ``ended`` (the dates of records) and ``deleted``.
    log
        Where they come from, and how to read it.

    Returns
    -------
    polars.DataFrame
        The columns of `batchlab.workload.logs.jobs.RECORD`, and others.
    """
    table = table.with_columns(pl.col("line").cast(pl.Int64))
    submit, start, end = _times(table, log)
    requested, allocated = _processors(table)
    table = table.with_columns(
        submit.alias("submitted at"), start.alias("started at"), end.alias("ended at"), requested, allocated
    )
    processors = pl.coalesce(pl.when(pl.col("requested") >= 1).then("requested"), "allocated")
    return table.select(
        "line",
        *_identity(),
        pl.col("submitted at").alias("submit"),
        pl.coalesce("qtime", "ctime", "queued").alias("submit_text"),
        pl.col("etime").cast(pl.Float64, strict=False).alias("eligible"),
        pl.when(~_NEVER).then("started at").alias("start"),
        pl.when(~pl.col("kind").is_in(["S", "Q"])).then("ended at").alias("end"),
        pl.coalesce("end", "ended").alias("end_text"),
        pl.when(~_NEVER).then(_seconds("resources_used.walltime")).alias("elapsed"),
        pl.lit(None, pl.Float64).alias("suspended"),
        pl.coalesce(_seconds("Resource_List.walltime"), pl.lit(math.inf)).alias("limit"),
        _state().alias("state"),
        "requested",
        "allocated",
        _memory(processors).alias("memory"),
        *(pl.col(name) for name in ("user", "group", "queue")),
        pl.coalesce("account", "account_name", "project").alias("account"),
        pl.lit(None, pl.String).alias("partition"),
        pl.col("jobname").alias("job_name"),
        pl.col("resvname").alias("reservation"),
        pl.col("depend").alias("logged_dependency"),
        *(pl.col(old).cast(pl.Int64, strict=False).alias(new) for old, new in _WHOLE.items()),
        pl.coalesce("exec_host", "exec_vnode").alias("node_list"),
        *_outcome(processors),
    )


def _times(table: pl.DataFrame, log: Log) -> list[pl.Series]:
    """Give submission, start and end."""
    read = instants(table, _TIMES, log.reading.timezone, _DATE)
    first = _first(read, "qtime", "ctime", "queued")
    queued = read["queued"]
    submit = _pick(_again(table) & queued.early.is_not_null(), queued, first)
    start, end = _first(read, "start", "started"), _first(read, "end", "ended")
    for found in submit, start, end:
        log.notes.add("mended", SHIFTED, table["line"].filter(found.skipped))
    return settled(submit, start, end, table.select(_seconds("resources_used.walltime")).to_series())


def _identity() -> list[pl.Expr]:
    """Give the number as Slurm would write it, and the server."""
    parts = pl.col("number").str.extract_groups(r"^(\d+)(?:\[(\d+)\]|-(\d+))?(?:\.(.*))?$").struct
    base, index = parts.field("1"), pl.coalesce(parts.field("2"), parts.field("3"))
    task = pl.format("{}[{}]", base, index)
    return [
        pl.when(index.is_not_null()).then(task).otherwise(base).alias("logged_id"),
        pl.lit(None, pl.Int64).alias("raw"),
        parts.field("4").alias("cluster"),
    ]


def _again(table: pl.DataFrame) -> pl.Series:
    """Tell which rows are of a run after the first: those were queued when the run before ended."""
    return table.select((pl.int_range(pl.len()).over("number") > 0).alias("again")).to_series()


def _first(read: Mapping[str, Instants], *names: str) -> Instants:
    """Take the first of some columns that is a time in each row."""
    found = read[names[0]]
    for name in names[1:]:
        found = _pick(found.early.is_not_null(), found, read[name])
    return found


def _pick(mask: pl.Series, first: Instants, second: Instants) -> Instants:
    return Instants(*(a.zip_with(mask, b) for a, b in zip(first, second, strict=True)))


def _seconds(name: str) -> pl.Expr:
    """Read a duration: a clock, or seconds."""
    text = pl.col(name).str.strip_chars()
    return pl.coalesce(text.cast(pl.Float64, strict=False), quantities.duration(text))


def _state() -> pl.Expr:
    """Say in Slurm's words how a job ended."""
    status = pl.col("Exit_status").cast(pl.Int64, strict=False)
    over = _seconds("resources_used.walltime") >= _seconds("Resource_List.walltime")
    ended = (
        pl.when((status == 0) | status.is_null())
        .then(pl.lit("COMPLETED"))
        .when(pl.col("deleted").is_not_null())
        .then(pl.lit("CANCELLED"))
        .when(status.is_in(_TERMINATED) & over.fill_null(value=False))
        .then(pl.lit("TIMEOUT"))
        .otherwise(pl.lit("FAILED"))
    )
    others = {"R": "REQUEUED", "S": "RUNNING", "Q": "PENDING"}
    other = pl.col("kind").replace_strict(others, default="CANCELLED", return_dtype=pl.String)
    return pl.when(pl.col("kind") == "E").then(ended).otherwise(other)


def _processors(table: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Give the processors that were requested, and those that were allocated."""
    chunks = table.select(pl.coalesce("Resource_List.select", "Resource_List.nodes")).to_series()
    numbers = {
        name: table[name].cast(pl.Float64, strict=False)
        for name in ("Resource_List.procs", "Resource_List.ncpus", "total_execution_slots")
    }
    counted = {
        "chunks": _counted(chunks, _asked),
        "vnodes": _counted(table["exec_vnode"].str.replace_all(r"[()]", ""), _asked),
        "hosts": _counted(table["exec_host"], _given),
    }
    frame = pl.DataFrame({**numbers, **counted})
    requested = pl.coalesce("chunks", "Resource_List.procs", "Resource_List.ncpus").alias("requested")
    allocated = pl.coalesce("total_execution_slots", "vnodes", "hosts").alias("allocated")
    first, second = frame.select(requested, allocated).get_columns()
    return first, second


def _counted(texts: pl.Series, count: Callable[[str], float | None]) -> pl.Series:
    """Count the processors of each text, once for all that are equal."""
    known = {text: count(text) for text in texts.unique().drop_nulls()}
    return pl.Series([known.get(text) for text in texts], dtype=pl.Float64)


def _asked(text: str) -> float | None:
    """Count the processors of chunks: ``2:ncpus=8:mem=4gb+1:ncpus=4``, ``2:ppn=8``, ``n1:ppn=2+n2``."""
    total = 0
    for chunk in text.split("+")[:_MOST_CHUNKS]:
        parts = chunk.strip().split(":")
        count = int(parts[0]) if re.fullmatch(r"\d{1,9}", parts[0]) else 1
        each = next((part.partition("=")[2] for part in parts if part.startswith(("ncpus=", "ppn="))), "1")
        if not re.fullmatch(r"\d{1,9}", each):
            return None
        total += count * int(each)
    return float(total) if 0 < total <= _LARGEST else None


def _given(text: str) -> float | None:
    """Count the processors of a list of hosts: ``n1/0+n1/1``, ``n1/0-7``, ``n1/0*8+n2/0*8``."""
    total = 0
    for part in text.split("+"):
        place = part.partition("/")[2]
        star = re.fullmatch(r"[^*]*\*(\d{1,9})", place)
        if star is not None:
            total += int(star[1])
            continue
        for item in place.split(","):
            match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", item)
            if match is None:
                return None
            total += int(match[2] or match[1]) - int(match[1]) + 1
    return float(total) if 0 < total <= _LARGEST else None


def _memory(processors: pl.Expr) -> pl.Expr:
    """Give the requested memory in kB of a processor, rounded up."""
    of_process, _ = quantities.memory(pl.col("Resource_List.pmem"), "")
    of_job, _ = quantities.memory(pl.col("Resource_List.mem"), "")
    return pl.coalesce(of_process, of_job / processors).ceil()


def _outcome(processors: pl.Expr) -> list[pl.Expr]:
    used, _ = quantities.memory(pl.col("resources_used.mem"), "")
    status = pl.col("Exit_status").cast(pl.Int64, strict=False)
    by_signal = (status > _SIGNALS).fill_null(value=False)
    return [
        pl.when(by_signal).then(0).otherwise(status).alias("exit_code"),
        pl.when(by_signal).then(status - _SIGNALS).when(status.is_not_null()).then(0).alias("exit_signal"),
        (used / processors).fill_null(-1.0).alias("used_memory"),
        (_seconds("resources_used.cput") / processors).fill_null(-1.0).alias("average_cpu_time"),
    ]
