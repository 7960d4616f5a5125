"""Workloads made of workloads: parts, other loads, other orders. None changes its argument."""

import math
import operator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload import dependencies

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload

__all__: list[str] = []


def filter_jobs(workload: "Workload", *predicates: pl.Expr) -> "Workload":
    """Keep the jobs for which all expressions hold.

    Raises
    ------
    WorkloadError
        If an expression names an unknown column or is no condition.
    """
    try:
        jobs = dependencies.without_missing(workload.jobs.filter(*predicates))
    except (pl.exceptions.PolarsError, TypeError) as error:
        columns = ", ".join(workload.jobs.columns)
        raise WorkloadError(f"filter: {error}. The columns are {columns}.") from error
    return replace(workload, jobs=jobs)


def slice_time(workload: "Workload", start: float | None, end: float | None) -> "Workload":
    """Keep the jobs with ``start <= submit_time < end``, in seconds; None stands for no bound."""
    submit = pl.col("submit_time")
    low, high = -math.inf if start is None else start, math.inf if end is None else end
    jobs = workload.jobs.filter((submit >= low) & (submit < high))
    return replace(workload, jobs=dependencies.without_missing(jobs))


def slice_rows(workload: "Workload", start: int | None, stop: int | None) -> "Workload":
    """Keep a slice of the rows."""
    return replace(workload, jobs=dependencies.without_missing(workload.jobs[slice(start, stop)]))


def head(workload: "Workload", count: int) -> "Workload":
    """Keep the first ``count`` jobs.

    Raises
    ------
    WorkloadError
        If the count is negative.
    """
    if count < 0:
        raise WorkloadError(f"count = {shown(count)}; must be >= 0. Use slice_rows to count from the end.")
    return slice_rows(workload, None, count)


def scale_load(workload: "Workload", factor: float) -> "Workload":
    """Divide the times between submissions by ``factor``; the first submission stays where it is.

    The offered load grows by the factor, since run times and requests stay as they are.

    Raises
    ------
    WorkloadError
        If the factor is not a positive number, or so small that times leave the exact range of 2^53 seconds.
    """
    if not 0 < factor < math.inf:
        raise WorkloadError(
            f"factor = {shown(factor)}; must be a positive number, as in 1.2 for 20 % more load."
        )
    submit = workload.jobs["submit_time"].to_numpy()
    first = submit.min() if submit.size else 0.0
    with np.errstate(over="ignore"):
        return _with_submit_time(workload, first + (submit - first) / factor, f"factor = {shown(factor)}")


def shift(workload: "Workload", seconds: float) -> "Workload":
    """Add ``seconds`` to every submit time.

    Raises
    ------
    WorkloadError
        If a job would be submitted before 0, or ``seconds`` is not finite.
    """
    return _with_submit_time(
        workload, workload.jobs["submit_time"].to_numpy() + seconds, f"seconds = {shown(seconds)}"
    )


def shuffle(workload: "Workload", seed: int) -> "Workload":
    """Permute the jobs over the submit times: these stay in their rows, all else of a job moves with it.

    The permutation is that of NumPy's ``default_rng(seed)``: the same on every platform.

    Raises
    ------
    WorkloadError
        If the seed is no whole number >= 0.
    """
    try:
        generator = np.random.default_rng(operator.index(seed))
    except (TypeError, ValueError) as error:
        raise WorkloadError(f"seed = {shown(seed)}; must be a whole number >= 0.") from error
    rows = generator.permutation(workload.jobs.height)
    return replace(workload, jobs=workload.jobs[rows].with_columns(workload.jobs["submit_time"]))


def whole_nodes(workload: "Workload", processors_per_node: int) -> "Workload":
    """Turn requests for processors into requests for whole nodes.

    A job of ``tasks`` processors becomes one of ``ceil(tasks / processors_per_node)`` tasks, at most one per
    node, on nodes that it shares with nobody. What each processor asked of a resource is asked by each node
    as often as it has processors of the job.

    Raises
    ------
    WorkloadError
        If ``processors_per_node`` is below 1, or the workload asks for whole nodes already.
    """
    if processors_per_node < 1:
        raise WorkloadError(f"processors_per_node = {shown(processors_per_node)}; must be >= 1.")
    jobs = workload.jobs
    if "exclusive" in jobs.columns and jobs["exclusive"].any():
        raise WorkloadError("whole_nodes: some jobs are exclusive already. Filter them out first.")
    if workload.applications:
        raise WorkloadError(
            "whole_nodes: the tasks of jobs with applications are nodes. Filter them out first."
        )
    tasks = pl.col("tasks")
    together = pl.min_horizontal(tasks, pl.lit(processors_per_node, pl.Int64))
    return replace(
        workload,
        jobs=jobs.with_columns(
            *(pl.col(name) * together for name in workload.resources),
            tasks=(tasks + (processors_per_node - 1)) // processors_per_node,
            tasks_per_node=pl.lit(1, pl.Int64),
            exclusive=pl.lit(value=True),
        ),
    )


def _with_submit_time(workload: "Workload", submit_time: np.ndarray, argument: str) -> "Workload":
    if submit_time.size and not (submit_time.min() >= 0 and submit_time.max() <= 2**53):
        raise WorkloadError(
            f"{argument}; would submit a job at {submit_time.min():g} s to {submit_time.max():g} s; "
            "must be from 0 to 2^53 s."
        )
    return replace(
        workload, jobs=workload.jobs.with_columns(pl.Series("submit_time", submit_time, pl.Float64))
    )
