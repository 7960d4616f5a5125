"""The fields of Slurm's records of jobs, read as times, amounts and names."""

import math

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.logs.clock import SHIFTED, instants, settled
from batchlab.workload.logs.log import Log

__all__ = ["WANTED", "header_of", "records_of"]

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
    "jobid",
    "jobidraw",
    "elapsed",
    "elapsedraw",
    "suspended",
    "timelimit",
    "timelimitraw",
    "exitcode",
)
_AMOUNTS = (
    "ncpus",
    "alloccpus",
    "reqcpus",
    "reqtres",
    "alloctres",
    "nnodes",
    "allocnodes",
    "reqnodes",
    "reqmem",
    "reqgres",
)
WANTED = (*_TIMES, "state", "dependency", "submitline", *_NUMBERS, *_AMOUNTS, *_TEXTS, *_WHOLE)
"""The fields that are made use of, as sacct calls them, in small letters."""

# As sbatch was called: -d afterok:12, --dependency=singleton.
_DEPENDENCY = r"\s(?:-d\s*|--dependency[= ])([^\s|]+)"
_NO_TIME = "is no time: taken as unknown"


def records_of(table: pl.DataFrame, log: Log) -> pl.DataFrame:
    """Give the records of jobs in the columns that the logs of all systems share.

    Parameters
    ----------
    table
        The text of the fields `WANTED`, null where there is none; and ``line``.
    log
        Where they come from, and how to read it.

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
        _limit().alias("limit"),
        pl.col("state"),
        pl.col("state").alias("state_text"),
        "requested",
        "allocated",
        _memory().alias("memory"),
        *(pl.col(name).str.strip_chars().replace("", None).alias(new) for name, new in _TEXTS.items()),
        *(
            pl.col(name).str.strip_chars().cast(pl.Int64, strict=False).alias(new)
            for name, new in _WHOLE.items()
        ),
        pl.col("requested_nodes", "allocated_nodes").cast(pl.Int64, strict=False),
        _gpus().cast(pl.Int64, strict=False).alias("requested_gpus"),
        pl.coalesce("dependency", pl.col("submitline").str.extract(_DEPENDENCY)).alias("logged_dependency"),
        pl.lit(None, pl.String).alias("queue"),
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


def _amounts() -> list[pl.Expr]:
    """Give the processors and the nodes that were requested, and those that were allocated."""
    lists = {
        (tres, name): quantities.count(quantities.resource(pl.col(tres), name))
        for tres in ("reqtres", "alloctres")
        for name in ("cpu", "node")
    }
    fields = {name: quantities.count(pl.col(name)) for name in _AMOUNTS if name.endswith(("cpus", "nodes"))}
    allocated = fields["alloccpus"], lists["alloctres", "cpu"], fields["ncpus"]
    nodes = lists["alloctres", "node"], fields["allocnodes"], fields["nnodes"]
    return [
        pl.coalesce(fields["reqcpus"], lists["reqtres", "cpu"]).alias("requested"),
        pl.coalesce(allocated).alias("allocated"),
        pl.coalesce(fields["reqnodes"], lists["reqtres", "node"]).alias("requested_nodes"),
        pl.coalesce(nodes).alias("allocated_nodes"),
    ]


def _memory() -> pl.Expr:
    """Give the requested memory in kB of a processor, rounded up.

    Older versions write for what it is; newer ones, for the job.
    """
    amount, kind = quantities.memory(pl.col("reqmem"))
    of_job, _ = quantities.memory(quantities.resource(pl.col("reqtres"), "mem"))
    processors = pl.coalesce(pl.when(pl.col(name) >= 1).then(name) for name in ("requested", "allocated"))
    nodes = pl.coalesce(
        pl.when(pl.col(name) >= 1).then(name) for name in ("allocated_nodes", "requested_nodes")
    )
    shared = pl.when(kind == "N").then(amount * nodes).otherwise(amount)
    return pl.coalesce(
        pl.when(kind == "C").then(amount).otherwise(shared / processors), of_job / processors
    ).ceil()


def _gpus() -> pl.Expr:
    # Before 21.08 a field of its own: gpu:2, gpu:a100:2, gres:gpu:2.
    before = quantities.count(
        pl.col("reqgres").str.extract(r"(?:^|[,:])\s*gpu(?::[^,:()]*[^,:()\d][^,:()]*)?:(\d+)")
    )
    whole = quantities.count(quantities.resource(pl.col("reqtres"), "gres/gpu"))
    kinds = (
        pl.col("reqtres")
        .str.extract_all(r"gres/gpu:[^=,]+=\d{1,9}")
        .list.eval(pl.element().str.extract(r"=(\d+)$").cast(pl.Int64))
    )
    return pl.coalesce(whole, pl.when(kinds.list.len() > 0).then(kinds.list.sum()), before)


def _ends() -> list[pl.Expr]:
    """Give how jobs ended: the exit code, the signal, and the number of the user that cancelled them."""
    parts = pl.col("exitcode").str.strip_chars().str.extract_groups(r"^(\d{1,9}):(\d{1,9})$").struct
    by = pl.col("state").str.extract(r"by (\d{1,18})")
    return [
        parts.field("1").cast(pl.Int64).alias("exit_code"),
        parts.field("2").cast(pl.Int64).alias("exit_signal"),
        by.cast(pl.Int64, strict=False).alias("cancelled_by"),
    ]


def header_of(table: pl.DataFrame) -> dict[str, object]:
    """Say which clusters a table of fields is of."""
    clusters = table["cluster"].drop_nulls().unique(maintain_order=True).to_list()
    return {"Computer": ", ".join(clusters)} if clusters else {}
