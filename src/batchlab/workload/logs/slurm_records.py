"""Parse the fields of Slurm's job records as times, amounts and names."""

import math
import re

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.logs.clock import SHIFTED, instants, settled
from batchlab.workload.logs.outcomes import OF_PARTITION
from batchlab.workload.logs.quantities import asked_columns, with_totals
from batchlab.workload.logs.reading import OpenLog

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
    "constraints": "constraint",
    "reason": "logged_reason",
    "nodelist": "node_list",
}
_WHOLE = {"uid": "user_id", "gid": "group_id"}
_NUMBERS = (
    *("jobid", "jobidraw", "elapsed", "elapsedraw", "suspended", "timelimit", "timelimitraw"),
    *("exitcode", "restarts"),
)
_AMOUNTS = (
    *("ncpus", "alloccpus", "reqcpus", "reqtres", "alloctres", "nnodes", "allocnodes", "reqnodes"),
    *("reqmem", "reqgres", "trespernode", "tresperjob", "exclusive"),
)
WANTED = (*_TIMES, "state", "dependency", "submitline", *_NUMBERS, *_AMOUNTS, *_TEXTS, *_WHOLE)
"""The fields that are used, under sacct's names in lower case."""

# Options of sbatch: -d afterok:12, --dependency=singleton, -N 2-4, --exclusive.
_DEPENDENCY = r"\s(?:-d\s*|--dependency[= ])([^\s|]+)"
_LINE_NODES = r"\s(?:-N\s*|--nodes[= ])(\d{1,9})"
_LINE_TASKS_PER_NODE = r"\s--ntasks-per-node[= ](\d{1,9})"
_LINE_PROCESSORS_PER_TASK = r"\s(?:-c\s*|--cpus-per-task[= ])(\d{1,9})"
_LINE_EXCLUSIVE = r"\s--exclusive(?:\s|$)"
_EXCLUSIVE = ("NODE", "YES")
# Versions up to 17.02 mark memory per processor with the first bit of an amount in MiB, later ones with the
# other.
_FLAG, _LATER_FLAG = 2**31, 2**63
_FEWEST_DIGITS_OF_FLAG = 10
_KILOBYTES = 1024.0
_OF_PARTITION = "PARTITION_LIMIT"
_REQUESTED = {"gpu": "requested_gpus"}
_NO_TIME = "is no time: taken as unknown"


def records_of(table: pl.DataFrame, log: OpenLog) -> pl.DataFrame:
    """Convert the records of jobs to the columns common to all logs.

    Parameters
    ----------
    table
        The text of the fields `WANTED`, null if missing; and ``line``.
    log
        The log: its source and the reading options.

    Returns
    -------
    polars.DataFrame
        The columns of `batchlab.workload.logs.jobs.RECORD`, and others.
    """
    table = table.with_columns(
        pl.coalesce("jobid", "jobidraw").alias("logged_id"),
        pl.col("jobidraw").str.extract(r"^\s*(\d{1,18})\s*$").cast(pl.Int64).alias("raw"),
        pl.coalesce(
            pl.col("elapsedraw").str.strip_chars().cast(pl.Float64, strict=False),
            quantities.duration(pl.col("elapsed")),
        ).alias("ran"),
        quantities.duration(pl.col("suspended")).alias("stood"),
        *_amounts(),
    )
    nodes = pl.coalesce(
        pl.when(pl.col(name) >= 1).then(name) for name in ("requested_nodes", "allocated_nodes")
    )
    table = with_totals(table, nodes)
    table = table.with_columns(_memory(table).get_columns())
    read = instants(table, _TIMES, log.reading.timezone, log.reading.time_format)
    for found in read.values():
        log.notes.add("mended", SHIFTED, table["line"].filter(found.skipped))
    for name in _TIMES[1:]:
        log.notes.add("mended", f"{name} {_NO_TIME}", table["line"].filter(read[name].unreadable))
    span = table["ran"] + table["stood"].fill_null(0.0)
    submit, start, end = settled(read["submit"], read["start"], read["end"], span)
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
        pl.col("restarts").str.strip_chars().cast(pl.Float64, strict=False).alias("restarts"),
        _limit().alias("limit"),
        _is_of_partition().alias(OF_PARTITION),
        pl.col("state"),
        pl.col("state").alias("state_text"),
        "requested",
        "allocated",
        *_requests(),
        *asked_columns(table.columns).values(),
        *(pl.col(name).str.strip_chars().replace("", None).alias(new) for name, new in _TEXTS.items()),
        *(
            pl.col(name).str.strip_chars().cast(pl.Int64, strict=False).alias(new)
            for name, new in _WHOLE.items()
        ),
        pl.col("requested_nodes", "allocated_nodes").cast(pl.Int64, strict=False),
        *(
            pl.col(total).cast(pl.Int64, strict=False).alias(_REQUESTED.get(name, f"requested_{name}"))
            for name, total in asked_columns(table.columns).items()
        ),
        pl.coalesce("dependency", pl.col("submitline").str.extract(_DEPENDENCY)).alias("logged_dependency"),
        pl.lit(None, pl.String).alias("queue"),
        *_ends(),
    )


def _limit() -> pl.Expr:
    """Return the time limit in seconds, infinite for a job without a limit of its own."""
    minutes = pl.col("timelimitraw").str.strip_chars().cast(pl.Float64, strict=False)
    clock = quantities.duration(pl.col("timelimit"))
    words = ["UNLIMITED", _OF_PARTITION, "INFINITE"]
    free = pl.any_horizontal(
        pl.col(name).str.strip_chars().str.to_uppercase().is_in(words).fill_null(value=False)
        for name in ("timelimit", "timelimitraw")
    )
    return pl.coalesce(minutes * 60, clock, pl.when(free).then(math.inf))


def _is_of_partition() -> pl.Expr:
    """Return a mask of the jobs with the maximum limit of the partition."""
    texts = (pl.col(name).str.strip_chars().str.to_uppercase() for name in ("timelimit", "timelimitraw"))
    return pl.any_horizontal((text == _OF_PARTITION).fill_null(value=False) for text in texts)


def _amounts() -> list[pl.Expr]:
    """Return requested and allocated processors and nodes."""
    lists = {
        (tres, name): quantities.count(quantities.resource(pl.col(tres), name))
        for tres in ("reqtres", "alloctres")
        for name in ("cpu", "node")
    }
    fields = {name: quantities.count(pl.col(name)) for name in _AMOUNTS if name.endswith(("cpus", "nodes"))}
    allocated = fields["alloccpus"], lists["alloctres", "cpu"], fields["ncpus"]
    nodes = lists["alloctres", "node"], fields["allocnodes"], fields["nnodes"]
    # A range of nodes requests at least its lower bound.
    fields["reqnodes"] = quantities.count(pl.col("reqnodes").str.extract(r"^\s*([^-]*)"))
    return [
        pl.coalesce(fields["reqcpus"], lists["reqtres", "cpu"]).alias("requested"),
        pl.coalesce(allocated).alias("allocated"),
        pl.coalesce(fields["reqnodes"], lists["reqtres", "node"]).alias("requested_nodes"),
        pl.coalesce(nodes).alias("allocated_nodes"),
    ]


def _requests() -> list[pl.Expr | str]:
    """Return requests other than processors and generic resources, as columns of `chunks.REQUESTS`."""
    line = pl.col("submitline")
    by_task = line.str.extract(_LINE_PROCESSORS_PER_TASK).cast(pl.Float64).fill_null(1.0)
    field = pl.col("exclusive").str.strip_chars().str.to_uppercase().is_in([*_EXCLUSIVE])
    return [
        pl.coalesce("requested_nodes", line.str.extract(_LINE_NODES).cast(pl.Float64)).alias(
            quantities.NODES
        ),
        (line.str.extract(_LINE_TASKS_PER_NODE).cast(pl.Float64) * by_task).alias(quantities.MOST_PER_NODE),
        (field.fill_null(value=False) | line.str.contains(_LINE_EXCLUSIVE).fill_null(value=False)).alias(
            quantities.WHOLE
        ),
        "memory",
        quantities.MEMORY,
        quantities.WHOLE_MEMORY,
    ]


def _memory(table: pl.DataFrame) -> pl.DataFrame:
    """Return the requested memory: kB per processor, rounded up; kB of the job; and whether it is all memory.

    Older versions write the scope; newer ones write the total of the job. 0 requests all memory of the nodes.
    """
    amount, kind = quantities.memory(pl.col("reqmem"))
    of_job, _ = quantities.memory(quantities.resource(pl.col("reqtres"), "mem"))
    read = table.select(
        amount.alias("amount"),
        kind.alias("kind"),
        of_job.alias("of_job"),
        pl.coalesce(pl.when(pl.col(name) >= 1).then(name) for name in ("requested", "allocated")).alias(
            "processors"
        ),
        pl.coalesce(
            pl.when(pl.col(name) >= 1).then(name) for name in ("allocated_nodes", "requested_nodes")
        ).alias("nodes"),
    ).with_columns(
        _flagged_memory(table), pl.when(pl.col("amount") < _FLAG * _KILOBYTES).then("amount").alias("sound")
    )
    kind = pl.col("kind")
    read = read.with_columns(
        pl.coalesce("flagged", pl.when(kind == "C").then("sound")).alias("by_processor"),
        pl.when(kind == "N")
        .then(pl.col("sound") * pl.col("nodes"))
        .when(kind == "")
        .then("sound")
        .alias("shared"),
    ).with_columns(
        pl.when(pl.col("by_processor").is_null())
        .then(pl.coalesce("shared", "of_job"))
        .alias(quantities.MEMORY)
    )
    return read.select(
        pl.coalesce("by_processor", pl.col(quantities.MEMORY) / pl.col("processors")).ceil().alias("memory"),
        quantities.MEMORY,
        (pl.coalesce("flagged", "amount", "of_job") == 0)
        .fill_null(value=False)
        .alias(quantities.WHOLE_MEMORY),
    )


def _flagged_memory(table: pl.DataFrame) -> pl.Series:
    """Return kB per processor for amounts with the bit for memory per processor; null for others."""
    text = table["reqmem"].str.strip_chars()
    texts = text.filter(text.str.len_bytes() >= _FEWEST_DIGITS_OF_FLAG).unique()
    found = {each: _without_flag(each) for each in texts}
    if all(each is None for each in found.values()):
        return pl.repeat(None, len(text), dtype=pl.Float64, eager=True).alias("flagged")
    return text.replace_strict(found, default=None, return_dtype=pl.Float64).alias("flagged")


def _without_flag(text: str) -> float | None:
    match = re.fullmatch(r"(\d{10,20})M?[nNcC]?", text)
    if match is None or int(match[1]) < _FLAG:
        return None
    number = int(match[1])
    return _KILOBYTES * (number - (_LATER_FLAG if number >= _LATER_FLAG else _FLAG))


def _ends() -> list[pl.Expr]:
    """Return how jobs ended: exit code, signal, and the number of the user who cancelled them."""
    parts = pl.col("exitcode").str.strip_chars().str.extract_groups(r"^(\d{1,9}):(\d{1,9})$").struct
    by = pl.col("state").str.extract(r"by (\d{1,18})")
    return [
        parts.field("1").cast(pl.Int64).alias("exit_code"),
        parts.field("2").cast(pl.Int64).alias("exit_signal"),
        by.cast(pl.Int64, strict=False).alias("cancelled_by"),
    ]


def header_of(table: pl.DataFrame) -> dict[str, object]:
    """Return header fields: the clusters in a table of fields."""
    clusters = table["cluster"].drop_nulls().unique(maintain_order=True).to_list()
    return {"Computer": ", ".join(clusters)} if clusters else {}
