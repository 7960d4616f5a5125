"""Parse the attributes of PBS records as times, amounts and names; requests also of Torque and Cray ALPS.

Sources of the grammar: the PBS Professional Reference Guide (pbs_resources) for ``select`` and ``place``,
Torque's qsub(1B) for ``nodes``, Cray's aprun(1) for ``mppwidth``.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.logs.clock import SHIFTED, Instants, instants, settled
from batchlab.workload.logs.quantities import ASKED, kilobytes_of
from batchlab.workload.logs.reading import OpenLog
from batchlab.workload.run_events import RUN_EVENTS

REQUEST = tuple(
    f"Resource_List.{name}"
    for name in (
        *("select", "place", "nodes", "nodect", "ncpus", "procs", "size", "ngpus", "gpus", "gpu"),
        *("naccelerators", "mem", "pmem", "mppwidth", "mppdepth", "mppnppn", "mppmem", "naccesspolicy"),
    )
)
"""The attributes that describe a request."""

UNEVEN = "chunks of several sizes: the processors are spread evenly over the nodes"

_WHOLE = re.compile(r"\d{1,9}")
_MOST_CHUNKS = 10_000
_LARGEST = 2**53
_GPUS = ("ngpus", "gpus", "gpu", "naccelerators")
_PROCESSORS = ("ncpus", "ppn")
_ALONE = ("excl", "exclhost")
_ALONE_POLICIES = ("singlejob", "singletask")


class Request(NamedTuple):
    """The request of one job; fields are None if the record has no value.

    `processors` and `gpus` are totals of the job. `nodes` is the number of requested nodes, `tasks_per_node`
    the maximum number of processors on one of them; `memory` is in kB, for the whole job. `uneven` is true if
    the chunks have different numbers of processors. `chunks` is the number of equal chunks of one node each;
    0 if each processor may be on any node.
    """

    processors: float | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    gpus: int | None = None
    memory: float | None = None
    exclusive: bool = False
    uneven: bool = False
    chunks: int = 0


@dataclass(frozen=True)
class _Chunk:
    """A group of equal chunks: their number, and the request of each; None if not specified."""

    count: int
    processors: int | None
    gpus: int
    memory: float | None


def requests(table: pl.DataFrame, parse: Callable[[Mapping[str, str]], Request]) -> pl.DataFrame:
    """Parse the requests of many records; each distinct request is parsed once.

    Parameters
    ----------
    table
        The attributes `REQUEST` as text, null if missing.
    parse
        Parses a request, such as `request_of`.

    Returns
    -------
    polars.DataFrame
        One row per record, with the fields of `Request`.
    """
    texts = table.select(REQUEST)
    distinct = texts.unique(maintain_order=True)
    parsed = [
        parse({key: value for key, value in zip(REQUEST, row, strict=True) if value is not None})
        for row in distinct.iter_rows()
    ]
    schema = {
        "processors": pl.Float64,
        "nodes": pl.Int64,
        "tasks_per_node": pl.Int64,
        "gpus": pl.Int64,
        "memory": pl.Float64,
        "exclusive": pl.Boolean,
        "uneven": pl.Boolean,
        "chunks": pl.Int64,
    }
    found = pl.concat([distinct, pl.DataFrame(parsed, schema=schema, orient="row")], how="horizontal")
    return texts.join(found, on=REQUEST, how="left", nulls_equal=True, maintain_order="left").select(
        list(schema)
    )


def request_of(attributes: Mapping[str, str]) -> Request:
    """Parse the request of one job.

    Parameters
    ----------
    attributes
        The attributes of its record, by name.

    Examples
    --------
    >>> chunks = {"Resource_List.select": "2:ncpus=8:ngpus=1", "Resource_List.place": "scatter:excl"}
    >>> asked = request_of(chunks)
    >>> asked.processors, asked.nodes, asked.tasks_per_node, asked.gpus, asked.exclusive
    (16.0, 2, 8, 2, True)
    """
    known = {key.removeprefix("Resource_List."): value.strip() for key, value in attributes.items()}
    if width := whole_number(known.get("mppwidth")):
        return _of_cray(known, width)
    nodes = known.get("nodes") or (known["nodect"] if ":" in known.get("nodect", "") else None)
    if known.get("select"):
        return _of_chunks(known, _chunks(known["select"]), known.get("place", "free"))
    if nodes and not (nodes == "1" and whole_number(known.get("procs"))):
        marks = "".join(f":{mark}" for mark in _ALONE if f"#{mark}" in nodes)
        return _of_nodes(known, _chunks(nodes.partition("#")[0]), f"scatter{marks}")
    return _of_number(known)


def _of_number(known: Mapping[str, str]) -> Request:
    """Parse a request that is one number: ``size`` of a Cray, ``procs`` anywhere, ``ncpus`` on one host."""
    for name in ("size", "procs", "ncpus"):
        if processors := whole_number(known.get(name)):
            one = Request(nodes=1, tasks_per_node=processors) if name == "ncpus" else Request()
            return _completed(known, float(processors), None, one._replace(exclusive=name == "size"))
    return _completed(known, None, None, Request())


def _of_cray(known: Mapping[str, str], width: int) -> Request:
    """Parse an aprun request: number of PEs, CPUs per PE and PEs per node; nodes are exclusive."""
    depth = whole_number(known.get("mppdepth")) or 1
    processors = width * depth
    of_node = whole_number(known.get("mppnppn"))
    nodes = -(-width // of_node) if of_node else None
    of_one = kilobytes_of(known.get("mppmem"))
    memory = None if of_one is None else of_one * width
    # Other attributes concern the batch script on the service node.
    return Request(
        float(processors),
        nodes,
        min(of_node * depth, processors) if of_node else None,
        _gpus(known, None),
        memory,
        exclusive=True,
    )


def _of_chunks(known: Mapping[str, str], chunks: list[_Chunk] | None, place: str) -> Request:
    """Parse a ``select``; totals written by the server take precedence over sums of chunks."""
    said = whole_number(known.get("ncpus"))
    counted = None if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    processors = said or counted
    placed = _placed(chunks, place, processors)
    return _completed(known, processors, chunks, placed, is_placed="place" in known)


def _of_nodes(known: Mapping[str, str], chunks: list[_Chunk] | None, place: str) -> Request:
    """Parse Torque's ``nodes``; if it specifies processors, ncpus is only the server's default."""
    counted = None if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    if chunks is not None and all(each.processors is None for each in chunks):
        counted = max(counted or 0, whole_number(known.get("ncpus")) or 0)
    return _completed(known, counted, chunks, _placed(chunks, place, counted))


def _usual(processors: int | None) -> int:
    return 1 if processors is None else processors


def _placed(chunks: list[_Chunk] | None, place: str, processors: float | None) -> Request:
    """Return the number of nodes of the chunks, and the processors per node."""
    words = place.split(":")
    exclusive = any(word in _ALONE for word in words)
    if chunks is None or not processors:
        return Request(exclusive=exclusive)
    count = sum(each.count for each in chunks)
    if "pack" in words or count == 1:
        return Request(nodes=1, tasks_per_node=int(processors), exclusive=exclusive)
    if "scatter" not in words and "vscatter" not in words:
        return Request(exclusive=exclusive)
    return Request(
        nodes=count,
        tasks_per_node=-int(-processors // count),
        exclusive=exclusive,
        uneven=len({each.processors for each in chunks}) > 1,
    )


def _completed(
    known: Mapping[str, str],
    processors: float | None,
    chunks: list[_Chunk] | None,
    placed: Request,
    *,
    is_placed: bool = False,
) -> Request:
    """Add totals of processors, GPUs and memory to a request; `is_placed` if it has a ``place``."""
    if processors is not None and not 0 < processors <= _LARGEST:
        return Request(exclusive=placed.exclusive)
    alone = placed.exclusive or known.get("naccesspolicy", "").lower() in _ALONE_POLICIES
    gpus = _gpus(known, chunks)
    # On several exclusive nodes, a number of processors per node is equivalent to a chunk.
    bound = gpus or (is_placed and not (alone and (placed.nodes or 0) > 1))
    return placed._replace(
        processors=None if processors is None else float(processors),
        gpus=gpus,
        memory=_memory(known, processors, chunks),
        exclusive=alone,
        chunks=_equal_chunks(chunks, placed) if bound else 0,
    )


def _equal_chunks(chunks: list[_Chunk] | None, placed: Request) -> int:
    """Return the number of one-node chunks of a job; 0 if the chunks differ or are unknown."""
    if placed.nodes == 1:
        return 1
    if chunks is None or len({(each.processors, each.gpus, each.memory) for each in chunks}) > 1:
        return 0
    return sum(each.count for each in chunks)


def _gpus(known: Mapping[str, str], chunks: list[_Chunk] | None) -> int | None:
    """Return the GPUs of a job: the total written by the server, else the sum of its chunks."""
    for name in _GPUS:
        said = whole_number(known.get(name))
        if said is not None:
            return said
    counted = sum(each.count * each.gpus for each in chunks or ())
    return counted or None


def _memory(known: Mapping[str, str], processors: float | None, chunks: list[_Chunk] | None) -> float | None:
    of_process = kilobytes_of(known.get("pmem"))
    if of_process is not None and processors is not None:
        return of_process * processors
    of_job = kilobytes_of(known.get("mem"))
    if of_job is not None:
        return of_job
    counted = [each.count * each.memory for each in chunks or () if each.memory is not None]
    return sum(counted) if counted else None


def processors_of(vnodes: str) -> float | None:
    """Count the processors in an ``exec_vnode``, ``(n1:ncpus=8:mem=4gb)+(n2:ncpus=4)``; None if invalid."""
    chunks = _chunks(vnodes.translate({ord("("): None, ord(")"): None}))
    total = 0 if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    return float(total) if 0 < total <= _LARGEST else None


def _chunks(text: str) -> list[_Chunk] | None:
    """Parse ``2:ncpus=8:mem=4gb+1:ncpus=4`` or ``n1:ppn=2:gpus=1+n2`` into chunks; None if invalid."""
    parts = text.split("+")
    if len(parts) > _MOST_CHUNKS:
        return None
    found = [_chunk(part) for part in parts if part.strip()]
    return None if not found or None in found else [each for each in found if each is not None]


def _chunk(text: str) -> _Chunk | None:
    words = text.strip().split(":")
    first = whole_number(words[0])
    amounts = dict(word.split("=", 1) for word in words if "=" in word)
    processors: int | None = None
    for name in _PROCESSORS:
        if name in amounts:
            processors = whole_number(amounts[name])
            if processors is None:
                return None
            break
    gpus = next((whole_number(amounts[name]) or 0 for name in _GPUS if name in amounts), 0)
    return _Chunk(1 if first is None else first, processors, gpus, kilobytes_of(amounts.get("mem")))


def whole_number(text: str | None) -> int | None:
    """Return the number in a text of digits; None for other texts and for None."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


_DATE = "%m/%d/%Y %H:%M:%S"
ATTRIBUTES = (
    *("ctime", "qtime", "etime", "start", "end", "user", "group", "account", "account_name", "project"),
    *("queue", "jobname", "resvname", "depend", "exec_host", "exec_vnode", "total_execution_slots"),
    *("unique_node_count", "Exit_status"),
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
PAUSE = " "
"""Separator of the suspension dates in ``pauses``: ``z03/01/2024T10:00:00 r03/01/2024T10:05:00``."""


def records_of(
    table: pl.DataFrame,
    log: OpenLog,
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
        pl.col("asked memory").alias(quantities.MEMORY),
        pl.col("unique_node_count").cast(pl.Int64, strict=False).alias("allocated_nodes"),
        pl.coalesce("exec_host", "exec_vnode").alias("node_list"),
        *_outcome(processors),
    )


def _shape(asked: pl.DataFrame) -> list[pl.Series]:
    """Return the distribution of jobs over nodes, and the totals of generic resources."""
    gpus = [asked["gpus"].cast(pl.Float64).alias(f"{ASKED}gpu")] if (asked["gpus"] > 0).any() else []
    return [
        asked["chunks"].alias(quantities.CHUNKS),
        asked["tasks_per_node"].alias(quantities.MOST_PER_NODE),
        asked["exclusive"].alias(quantities.WHOLE),
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


def _suspensions(table: pl.DataFrame, log: OpenLog, start: pl.Series) -> pl.DataFrame:
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


def _times(table: pl.DataFrame, log: OpenLog) -> list[pl.Series]:
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
