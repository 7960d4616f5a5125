"""Parse the attributes of PBS records as times, amounts and names."""

import math
import re
from collections.abc import Callable, Mapping

import polars as pl

from batchlab.workload.logs import chunks, quantities
from batchlab.workload.logs.clock import SHIFTED, Instants, instants, settled
from batchlab.workload.logs.generic_resources import ASKED
from batchlab.workload.logs.log import Log
from batchlab.workload.logs.pbs_requests import REQUEST, UNEVEN, Request, processors_of, request_of, requests
from batchlab.workload.run_events import RUN_EVENTS

__all__ = ["ATTRIBUTES", "PAUSE", "WANTED", "records_of"]

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
    *REQUEST,
    *("Resource_List.walltime", "resources_used.walltime", "resources_used.mem", "resources_used.cput"),
)
"""The attributes that are used."""

WANTED = ("number", "line", "kind", "queued", "started", "ended", "deleted", "pauses", *ATTRIBUTES)
"""The columns of a table of runs: identity and dates of a run, and the attributes."""

_TIMES = ("ctime", "qtime", "queued", "start", "started", "end", "ended")
_NEVER = pl.col("start").is_null() & pl.col("started").is_null()
_NO_ACCOUNT = ["_pbs_project_default", "NONE", "null"]
_SIGNALS = 128
_MOST_SIGNALS = 64
_OLD_SIGNALS = 10_000
_TERMINATED = (9, 15)
"""The signals with which a server ends a job: SIGKILL and SIGTERM."""
_OF_SERVER = {-24: "FAILED", -25: "FAILED", -26: "OUT_OF_MEMORY", -27: "OUT_OF_MEMORY", -29: "TIMEOUT"}
"""Exit statuses of jobs that the server ended because of a limit (OpenPBS, job.h)."""
_LARGEST = 2**53
PAUSE = " "
"""Separator of the suspension dates in ``pauses``: ``z03/01/2024T10:00:00 r03/01/2024T10:05:00``."""


def records_of(
    table: pl.DataFrame,
    log: Log,
    *,
    parse: Callable[[Mapping[str, str]], Request] = request_of,
    aborted: str = "CANCELLED",
) -> pl.DataFrame:
    """Convert the records of jobs to the columns common to all logs.

    Parameters
    ----------
    table
        One row per run or wait, with `WANTED` as text: attributes, and ``number``, ``line``, ``kind`` (of its
        last record), ``queued``, ``started``, ``ended`` (dates of records), ``deleted`` and ``pauses``.
    log
        The log: its source and the reading options.
    parse
        Parses the request of a record.
    aborted
        The state of a job with a record A.

    Returns
    -------
    polars.DataFrame
        The columns of `batchlab.workload.logs.jobs.RECORD`, and others.
    """
    table = table.with_columns(pl.col("line").cast(pl.Int64))
    submit, start, end = _times(table, log)
    asked = requests(table, parse)
    uneven = asked["uneven"].fill_null(value=False)
    log.notes.add("noted", UNEVEN, table["line"].filter(uneven))
    table = table.with_columns(
        submit.alias("submitted at"),
        start.alias("started at"),
        end.alias("ended at"),
        asked["processors"].alias("requested"),
        _allocated(table),
        *_suspensions(table, log, start).get_columns(),
        *(asked[name].alias(f"asked {name}") for name in asked.columns),
    )
    processors = pl.coalesce(pl.when(pl.col("requested") >= 1).then("requested"), "allocated")
    return table.select(
        "line",
        *_identity(),
        pl.col("submitted at").alias("submit"),
        pl.coalesce("ctime", "qtime", "queued").alias("submit_text"),
        _instant("etime").alias("eligible"),
        pl.when(~_NEVER).then("started at").alias("start"),
        pl.when(~pl.col("kind").is_in(["S", "Q"])).then("ended at").alias("end"),
        pl.coalesce("end", "ended").alias("end_text"),
        _elapsed().alias("elapsed"),
        "suspended",
        RUN_EVENTS,
        _limit().alias("limit"),
        _state(aborted).alias("state"),
        "requested",
        "allocated",
        (pl.col("asked memory") / processors).ceil().alias("memory"),
        *(pl.col(name) for name in ("user", "group", "queue")),
        pl.coalesce(
            pl.col(name).replace(_NO_ACCOUNT, None) for name in ("account", "account_name", "project")
        ).alias("account"),
        pl.lit(None, pl.String).alias("partition"),
        pl.col("jobname").alias("job_name"),
        pl.col("resvname").alias("reservation"),
        pl.col("depend").alias("logged_dependency"),
        pl.col("asked nodes").alias("requested_nodes"),
        pl.col("asked gpus").alias("requested_gpus"),
        *_shape(asked),
        pl.col("asked memory").alias(chunks.MEMORY),
        pl.col("unique_node_count").cast(pl.Int64, strict=False).alias("allocated_nodes"),
        pl.coalesce("exec_host", "exec_vnode").alias("node_list"),
        *_outcome(processors),
    )


def _shape(asked: pl.DataFrame) -> list[pl.Series]:
    """Return the distribution of jobs over nodes, and the totals of generic resources."""
    gpus = [asked["gpus"].cast(pl.Float64).alias(f"{ASKED}gpu")] if (asked["gpus"] > 0).any() else []
    return [
        asked["chunks"].alias(chunks.CHUNKS),
        asked["tasks_per_node"].alias(chunks.MOST_PER_NODE),
        asked["exclusive"].alias(chunks.WHOLE),
        *gpus,
    ]


def _instant(name: str) -> pl.Expr:
    seconds = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(seconds > 0).then(seconds)


def _elapsed() -> pl.Expr:
    """Return the run time of a job, if it cannot be derived from its start and end.

    The server polls its walltime, which does not advance while a job is suspended.
    """
    known = pl.col("started at") <= pl.col("ended at")
    over = ~pl.col("kind").is_in(["S", "Q"])
    return pl.when(~_NEVER & ~(known & over).fill_null(value=False)).then(_seconds("resources_used.walltime"))


def _limit() -> pl.Expr:
    seconds = _seconds("Resource_List.walltime")
    return pl.when(seconds >= 0).then(seconds).otherwise(math.inf)


def _suspensions(table: pl.DataFrame, log: Log, start: pl.Series) -> pl.DataFrame:
    """Return the seconds each run was suspended, and the times as `RUN_EVENTS`; null without suspensions."""
    stood = table.select(pl.int_range(pl.len()).alias("row"), "pauses", start.alias("start"))
    rows = stood.select("row")
    stood = stood.filter(pl.col("pauses").is_not_null())
    if stood.is_empty():
        nothing = {"suspended": pl.Float64, RUN_EVENTS: pl.String}
        return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in nothing.items()).drop("row")
    # Entries alternate: suspended, resumed.
    words = stood.with_columns(pl.col("pauses").str.split(PAUSE)).explode("pauses")
    texts = words.select(
        "row", "start", kind=pl.col("pauses").str.head(1), date=pl.col("pauses").str.slice(1)
    )
    texts = texts.with_columns(pl.col("date").str.replace("T", " ", literal=True))
    texts = texts.with_columns(
        instants(texts, ["date"], log.reading.timezone, _DATE)["date"].early.alias("at")
    )
    pause = (pl.col("at").shift(-1).over("row") - pl.col("at")).clip(lower_bound=0.0).alias("pause")
    pauses = texts.with_columns(pause).filter(kind="z")
    before = pl.col("pause").cum_sum().over("row") - pl.col("pause")
    after = (pl.col("at") - pl.col("start") - before).clip(lower_bound=0.0)
    pauses = pauses.with_columns(pl.format("suspend:{}:{}", after, "pause").alias(RUN_EVENTS))
    found = pauses.group_by("row").agg(
        pl.col("pause").sum().alias("suspended"), pl.col(RUN_EVENTS).str.join(",")
    )
    return rows.join(found, on="row", how="left", maintain_order="left").drop("row")


def _times(table: pl.DataFrame, log: Log) -> list[pl.Series]:
    """Return submission, start and end."""
    read = instants(table, _TIMES, log.reading.timezone, _DATE)
    first = _first(read, "ctime", "qtime", "queued")
    queued = read["queued"]
    submit = _pick(_again(table) & queued.early.is_not_null(), queued, first)
    start, end = _first(read, "start", "started"), _first(read, "end", "ended")
    for found in submit, start, end:
        log.notes.add("mended", SHIFTED, table["line"].filter(found.skipped))
    return settled(submit, start, end, table.select(_seconds("resources_used.walltime")).to_series())


def _identity() -> list[pl.Expr]:
    """Return the job number in Slurm's notation, and the server."""
    parts = pl.col("number").str.extract_groups(r"^(\d+)(?:\[(\d+)\]|-(\d+))?(?:\.(.*))?$").struct
    base, index = parts.field("1"), pl.coalesce(parts.field("2"), parts.field("3"))
    task = pl.format("{}[{}]", base, index)
    return [
        pl.when(index.is_not_null()).then(task).otherwise(base).alias("logged_id"),
        pl.lit(None, pl.Int64).alias("raw"),
        parts.field("4").alias("cluster"),
    ]


def _again(table: pl.DataFrame) -> pl.Series:
    """Return a mask of the rows after a job's first run: these were queued when the previous run ended."""
    return ~table["number"].is_first_distinct()


def _first(read: Mapping[str, Instants], *names: str) -> Instants:
    """Return the first valid time of several columns in each row."""
    found = read[names[0]]
    for name in names[1:]:
        found = _pick(found.early.is_not_null(), found, read[name])
    return found


def _pick(mask: pl.Series, first: Instants, second: Instants) -> Instants:
    return Instants(*(a.zip_with(mask, b) for a, b in zip(first, second, strict=True)))


def _seconds(name: str) -> pl.Expr:
    """Parse a duration: ``hours:minutes:seconds`` or seconds."""
    text = pl.col(name).str.strip_chars()
    return pl.coalesce(text.cast(pl.Float64, strict=False), quantities.duration(text))


def _state(aborted: str) -> pl.Expr:
    """Return the final state of a job, as named by Slurm."""
    status = pl.col("Exit_status").cast(pl.Int64, strict=False)
    limit = _seconds("Resource_List.walltime")
    ran = pl.max_horizontal(
        _seconds("resources_used.walltime"), pl.col("ended at") - pl.col("started at") - _paused()
    )
    at_limit = (_signal(status).is_in(_TERMINATED) & (ran >= limit)).fill_null(value=False)
    deleted = pl.col("deleted")
    by_server = status.replace_strict(_OF_SERVER, default=None, return_dtype=pl.String)
    ended = (
        pl.when((deleted == "A") & (aborted == "TIMEOUT"))
        .then(pl.lit(aborted))
        .when((status == 0) | status.is_null())
        .then(pl.lit("COMPLETED"))
        .when(by_server.is_not_null())
        .then(by_server)
        .when(deleted.is_not_null())
        .then(pl.lit("CANCELLED"))
        .when(at_limit)
        .then(pl.lit("TIMEOUT"))
        .otherwise(pl.lit("FAILED"))
    )
    others = {"A": aborted, "R": "REQUEUED", "C": "REQUEUED", "S": "RUNNING", "Q": "PENDING"}
    other = pl.col("kind").replace_strict(others, default="CANCELLED", return_dtype=pl.String)
    return pl.when(pl.col("kind") == "E").then(ended).otherwise(other)


def _paused() -> pl.Expr:
    return pl.col("suspended").fill_null(0.0)


def _signal(status: pl.Expr) -> pl.Expr:
    """Return the signal that ended a job; an exit status encodes it as 128, 256 or 10000 + its number."""
    return pl.coalesce(
        pl.when((status > base) & (status <= base + _MOST_SIGNALS)).then(status - base)
        for base in (2 * _SIGNALS, _SIGNALS, _OLD_SIGNALS)
    )


def _allocated(table: pl.DataFrame) -> pl.Series:
    """Return the number of processors allocated to each job."""
    counted = {
        "slots": table["total_execution_slots"].cast(pl.Float64, strict=False),
        "vnodes": _counted(table["exec_vnode"], processors_of),
        "hosts": _counted(table["exec_host"], _given),
    }
    return (
        pl.DataFrame(counted).select(pl.coalesce("slots", "vnodes", "hosts").alias("allocated")).to_series()
    )


def _counted(texts: pl.Series, count: Callable[[str], float | None]) -> pl.Series:
    """Count the processors of each text, once per distinct text."""
    distinct = texts.unique().drop_nulls()
    counts = pl.Series([count(text) for text in distinct], dtype=pl.Float64)
    return texts.replace_strict(distinct, counts, default=None, return_dtype=pl.Float64)


def _given(text: str) -> float | None:
    """Count the processors in a host list: ``n1/0+n1/1``, ``n1/0-7``, ``n1/0*8+n2/0*8``."""
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


def _outcome(processors: pl.Expr) -> list[pl.Expr]:
    used, _ = quantities.memory(pl.col("resources_used.mem"), "")
    status = pl.col("Exit_status").cast(pl.Int64, strict=False)
    signal = _signal(status)
    return [
        pl.when(signal.is_not_null()).then(0).otherwise(status).alias("exit_code"),
        signal.fill_null(pl.when(status.is_not_null()).then(0)).alias("exit_signal"),
        _seconds("resources_used.walltime").alias("used_walltime"),
        (used / processors).fill_null(-1.0).alias("used_memory"),
        (_seconds("resources_used.cput") / processors).fill_null(-1.0).alias("average_cpu_time"),
    ]
