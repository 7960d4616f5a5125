"""Requests of jobs in logs, converted to requests per task and node (S3).

A logged job requests processors, and optionally nodes and generic resources such as GPUs. Without the latter
two, each processor is a task. A job that requests N nodes only has one task per node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from batchlab.workload.logs.quantities import asked_columns
from batchlab.workload.logs.reading import Notes, Reading

CHUNKS = "equal chunks asked for"
"""Record column: number of equal one-node chunks of a job, if the log has it; 0 or null if each processor is
a task."""

NODES = "nodes asked for"
"""Record column: number of requested nodes, null if not in the log."""

MOST_PER_NODE = "processors of tasks on a node"
"""Record column: maximum number of processors of a job per node."""

WHOLE = "asks for whole nodes"
"""Record column: whether a job requested whole nodes."""

MEMORY = "memory in all"
"""Record column: total memory requested by a job, kB; null if it was requested per processor."""

WHOLE_MEMORY = "asks for all memory"
"""Record column: whether a job requested all memory of its nodes."""

REQUESTS = (NODES, CHUNKS, MOST_PER_NODE, WHOLE, MEMORY, WHOLE_MEMORY)

_GIVEN_NODES = "nodes asked for are not logged: at least so many as were given taken"
_ONE_NODE = "nodes of a job with generic resources are not logged: one taken"
_ROUNDED = "processors or generic resources do not divide evenly among the nodes: rounded up on each"
_ALL_MEMORY = "asks for all memory of its nodes: whole nodes taken"


def with_chunks(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add the columns of requests per task.

    Parameters
    ----------
    jobs
        With ``tasks``, the processors of each job, ``memory`` in kB per processor, ``allocated_nodes``, and
        the available columns of `REQUESTS` and totals of generic resources.
    notes
        Collects remarks on assumptions.
    reading
        Whether to use memory, and which processor field takes precedence.

    Returns
    -------
    polars.DataFrame
        With new ``tasks``; ``core`` (processors per task), ``mem`` (kB), ``tasks_per_node`` and ``exclusive``
        if a job needs them; and a column for each generic resource.
    """
    if NODES not in jobs.columns and CHUNKS not in jobs.columns:
        return jobs.with_columns(pl.col("memory").alias("mem")) if reading.use_memory else jobs
    generic = asked_columns(jobs.columns)
    is_said = CHUNKS in jobs.columns
    lacking = [name for name in (*REQUESTS, "allocated_nodes") if name not in jobs.columns]
    jobs = jobs.with_columns(pl.lit(None).alias(name) for name in lacking)
    totals = [*generic.values()]
    forms = _Forms.said(jobs, totals) if is_said else _Forms.of(jobs, totals, reading)
    forms.remark(jobs, totals, notes, reading)
    is_chunk = forms.chunks > 0
    tasks = pl.when(is_chunk).then(forms.chunks).otherwise("tasks")
    core = pl.when(is_chunk).then((pl.col("tasks") / tasks).ceil()).otherwise(1.0)
    columns = [tasks.alias("tasks")]
    if is_chunk.any():
        columns.append(core.cast(pl.Int64, strict=False).alias("core"))
    columns += [
        (pl.col(total).fill_null(0.0) / tasks).ceil().cast(pl.Int64, strict=False).alias(name)
        for name, total in generic.items()
    ]
    if (forms.most > 0).any():
        columns.append(pl.lit(forms.most.cast(pl.Int64)).alias("tasks_per_node"))
    if forms.exclusive.any():
        columns.append(pl.lit(forms.exclusive).alias("exclusive"))
    if reading.use_memory:
        # Slurm counts memory per processor: all processors of a task have the same share.
        of_job = (pl.col(MEMORY).cast(pl.Float64) / tasks / core).ceil() * core
        columns.append(pl.coalesce(of_job, pl.col("memory") * core).alias("mem"))
    return jobs.with_columns(columns).drop(*REQUESTS, *generic.values())


@dataclass(frozen=True)
class _Forms:
    """The form of each request: how it is divided into tasks.

    Attributes
    ----------
    chunks
        Number of tasks if each has several processors or generic resources; 0 if each processor is a task.
    most
        Maximum number of tasks per node; 0 for no bound.
    exclusive
        Whether nodes are allocated exclusively.
    takes_given
        Whether the allocated nodes replace missing requested nodes.
    takes_one
        Whether one node is assumed, since the log has no nodes.
    """

    chunks: pl.Series
    most: pl.Series
    exclusive: pl.Series
    takes_given: pl.Series
    takes_one: pl.Series

    @classmethod
    def of(cls, jobs: pl.DataFrame, totals: Sequence[str], reading: Reading) -> Self:
        """Derive the forms from requested and allocated nodes."""
        frame = _facts(jobs, totals, reading).with_columns(
            (
                pl.col("asked").is_not_null() & ~(pl.col("given") > pl.col("nodes")).fill_null(value=False)
            ).alias("exact"),
            (pl.col("tasks") / pl.col("nodes")).ceil().alias("each"),
        )
        several = pl.col("nodes") > 1
        # Uneven processors can be expressed as a bound per node if the bound implies the same number of
        # nodes.
        is_even = pl.col("tasks") % pl.col("nodes") == 0
        is_bounded = (pl.col("tasks") / pl.col("each")).ceil() == pl.col("nodes")
        by_node = pl.col("exact") & several & (is_even | ~is_bounded | pl.col("exclusive"))
        on_nodes = pl.col("generic") & (pl.col("exact") | pl.col("asked").is_null())
        frame = frame.with_columns((by_node | on_nodes).alias("by_node"))
        spread = pl.col("generic") & ~pl.col("by_node")
        chosen = frame.select(
            pl.when("by_node").then("nodes").otherwise(0.0).alias("chunks"),
            pl.when("by_node").then(1.0).when(several & ~spread).then("each").otherwise(0.0).alias("most"),
            spread.alias("spread"),
            (pl.col("asked").is_null() & several).alias("takes_given"),
            (pl.col("asked").is_null() & ~several & pl.col("generic")).alias("takes_one"),
        )
        chunks = chosen["chunks"]
        if chosen["spread"].any():
            chunks = chunks.zip_with(~chosen["spread"], _spread(jobs, frame, totals))
        return cls(chunks, chosen["most"], frame["exclusive"], chosen["takes_given"], chosen["takes_one"])

    @classmethod
    def said(cls, jobs: pl.DataFrame, totals: Sequence[str]) -> Self:
        """Use the forms in the log.

        A job with generic resources and unknown chunks is divided into as many equal chunks of whole numbers
        as possible.
        """
        none = pl.zeros(jobs.height, pl.Int64, eager=True) > 0
        generic = jobs.select(pl.any_horizontal(pl.lit(value=False), *(pl.col(name) > 0 for name in totals)))
        chunks = jobs[CHUNKS].cast(pl.Float64).fill_null(0.0)
        unknown = (chunks == 0) & generic.to_series().fill_null(value=False)
        if unknown.any():
            chunks = chunks.zip_with(~unknown, _common(jobs["tasks"], jobs, totals))
        core = pl.when(chunks > 0).then((pl.col("tasks") / chunks).ceil()).otherwise(1.0)
        most = (_known(MOST_PER_NODE) / core).floor().clip(lower_bound=1.0).fill_null(0.0)
        whole = jobs[WHOLE].cast(pl.Boolean).fill_null(value=False)
        return cls(chunks, jobs.select(most.alias("most")).to_series(), whole, none, none)

    def remark(self, jobs: pl.DataFrame, totals: Sequence[str], notes: Notes, reading: Reading) -> None:
        """Add remarks on missing fields and rounded amounts."""
        chunks = self.chunks.replace(0.0, None)
        uneven = pl.zeros(jobs.height, pl.Int64, eager=True) > 0
        for name in ("tasks", *totals):
            uneven |= (jobs[name] % chunks != 0).fill_null(value=False)
        remarks = [
            ("noted", _GIVEN_NODES, self.takes_given),
            ("noted", _ONE_NODE, self.takes_one),
            ("mended", _ROUNDED, uneven),
        ]
        if reading.use_memory:
            remarks.append(("noted", _ALL_MEMORY, jobs[WHOLE_MEMORY].cast(pl.Boolean).fill_null(value=False)))
        for outcome, reason, where in remarks:
            if where.any():
                found = jobs.filter(where)
                notes.add(outcome, reason, found["line"], found["job_id"])


def _facts(jobs: pl.DataFrame, totals: Sequence[str], reading: Reading) -> pl.DataFrame:
    """Return the facts that determine the form of a request; ``nodes`` is the number of nodes to use."""
    asked, given = (_known(name) for name in (NODES, "allocated_nodes"))
    if reading.processors == "allocated":
        asked = pl.coalesce(given, asked)
    bounded = (pl.col("tasks") / _known(MOST_PER_NODE)).ceil()
    asks_generic = pl.any_horizontal(pl.lit(value=False), *(pl.col(name) > 0 for name in totals))
    exclusive = pl.col(WHOLE).cast(pl.Boolean).fill_null(value=False)
    if reading.use_memory:
        exclusive |= pl.col(WHOLE_MEMORY).cast(pl.Boolean).fill_null(value=False)
    return jobs.select(
        "tasks",
        pl.max_horizontal(asked, bounded).alias("asked"),
        given.alias("given"),
        asks_generic.fill_null(value=False).alias("generic"),
        exclusive.alias("exclusive"),
    ).with_columns(pl.coalesce("asked", "given", pl.lit(1.0)).alias("nodes"))


def _known(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number >= 1).then(number)


def _spread(jobs: pl.DataFrame, frame: pl.DataFrame, totals: Sequence[str]) -> pl.Series:
    """Return the number of chunks of jobs whose generic resources may be on any number of nodes.

    Use the largest number of equal chunks of whole numbers, but at least the number of allocated nodes.
    """
    common = _common(frame["tasks"], jobs, totals)
    given = frame["given"].fill_null(1.0)
    return common.zip_with(common >= given, given)


def _common(tasks: pl.Series, jobs: pl.DataFrame, totals: Sequence[str]) -> pl.Series:
    """Return the greatest common divisor of the processors and the generic resources of each job."""
    amounts = [tasks, *(jobs[name].fill_null(0.0) for name in totals)]
    whole = [each.ceil().clip(0, 2**53).cast(pl.Int64).to_numpy() for each in amounts]
    return pl.Series("chunks", np.gcd.reduce(np.array(whole), axis=0)).cast(pl.Float64)
