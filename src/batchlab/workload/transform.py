"""Transforms of job tables: subsets, other loads, other orders. None modifies its argument."""

import math
import operator
from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np
import polars as pl

from batchlab.core.units import is_real
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload import dependencies
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.dependencies import BEGIN_TIME

__all__: list[str] = []

_MOST_PROCESSORS = 2**53


def filter_jobs(jobs: pl.DataFrame, *predicates: pl.Expr) -> pl.DataFrame:
    """Keep the jobs for which all expressions hold.

    Raises
    ------
    WorkloadError
        If an expression names an unknown column or is not Boolean.
    """
    try:
        return dependencies.without_missing(jobs.filter(*predicates))
    except UNREADABLE as error:
        raise WorkloadError(
            f"filter: {reason_of(error)}. The columns are {', '.join(jobs.columns)}."
        ) from error


def slice_time(jobs: pl.DataFrame, start: float | None, end: float | None) -> pl.DataFrame:
    """Keep the jobs with ``start <= submit_time < end``, in seconds; None means no bound."""
    for name, bound in (("start", start), ("end", end)):
        # Infinity is a bound too.
        if bound is not None and not (is_real(bound) or bound in (-math.inf, math.inf)):
            raise WorkloadError(f"{name} = {shown(bound)}; must be a number of seconds, or None.")
    submit = pl.col("submit_time")
    low, high = -math.inf if start is None else start, math.inf if end is None else end
    return dependencies.without_missing(jobs.filter((submit >= low) & (submit < high)))


def slice_rows(jobs: pl.DataFrame, start: int | None, stop: int | None) -> pl.DataFrame:
    """Keep a slice of the rows.

    Raises
    ------
    WorkloadError
        If a bound is not a whole number.
    """
    first, last = (
        None if bound is None else _whole(name, bound) for name, bound in (("start", start), ("stop", stop))
    )
    return dependencies.without_missing(jobs[slice(first, last)])


def head(jobs: pl.DataFrame, count: int) -> pl.DataFrame:
    """Keep the first ``count`` jobs.

    Raises
    ------
    WorkloadError
        If the count is not a whole number >= 0.
    """
    number = _whole("count", count)
    if number < 0:
        raise WorkloadError(f"count = {shown(count)}; must be >= 0. Use slice_rows to count from the end.")
    return slice_rows(jobs, None, number)


def scale_load(jobs: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Divide the intervals between submissions, and from these to begin times, by ``factor``.

    The first submission is unchanged. The offered load grows by the factor, since run times and requests are
    unchanged.

    Raises
    ------
    WorkloadError
        If the factor is not a positive number, or so small that times leave the exact range of 2^53 seconds.
    """
    if not (is_real(factor) and factor > 0):
        raise WorkloadError(
            f"factor = {shown(factor)}; must be a positive number, as in 1.2 for 20 % more load."
        )
    submit = jobs["submit_time"].to_numpy()
    first = submit.min() if submit.size else 0.0
    with np.errstate(over="ignore"):
        scaled = first + (submit - first) / factor
        begin = first + (pl.col(BEGIN_TIME) - first) / factor
        return _with_submit_time(jobs, scaled, f"factor = {shown(factor)}", begin)


def shift(jobs: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """Add ``seconds`` to every submit time and begin time.

    Raises
    ------
    WorkloadError
        If a job would be submitted before 0, or ``seconds`` is not finite.
    """
    by = seconds if is_real(seconds) else math.nan
    submit = jobs["submit_time"].to_numpy() + by
    return _with_submit_time(jobs, submit, f"seconds = {shown(seconds)}", pl.col(BEGIN_TIME) + by)


def shuffle(jobs: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Permute the jobs over the submit times: submit times stay in their rows, all other columns move.

    The permutation is drawn from NumPy's ``default_rng(seed)``, and is the same on every platform.

    Raises
    ------
    WorkloadError
        If the seed is not a whole number >= 0.
    """
    try:
        generator = np.random.default_rng(operator.index(seed))
    except (TypeError, ValueError) as error:
        raise WorkloadError(f"seed = {shown(seed)}; must be a whole number >= 0.") from error
    return jobs[generator.permutation(jobs.height)].with_columns(jobs["submit_time"])


def whole_nodes(jobs: pl.DataFrame, resources: Sequence[str], processors_per_node: int) -> pl.DataFrame:
    """Convert requests for processors to requests for whole nodes.

    A job of ``tasks`` processors becomes a job of ``ceil(tasks / processors_per_node)`` tasks, at most one
    per node, on exclusive nodes. Each node has the requests of as many processors as the job has on it.

    Raises
    ------
    WorkloadError
        If ``processors_per_node`` is not a whole number from 1 to 2^53, or the workload already requests
        whole nodes.
    """
    of_node = _whole("processors_per_node", processors_per_node)
    if not 1 <= of_node <= _MOST_PROCESSORS:
        rule = "must be >= 1." if of_node < 1 else "must be <= 2^53."
        raise WorkloadError(f"processors_per_node = {shown(processors_per_node)}; {rule}")
    if "exclusive" in jobs.columns and jobs["exclusive"].any():
        raise WorkloadError("whole_nodes: some jobs are exclusive already. Filter them out first.")
    tasks = pl.col("tasks")
    together = pl.min_horizontal(tasks, pl.lit(of_node, pl.Int64))
    return jobs.with_columns(
        *(pl.col(name) * together for name in resources),
        tasks=(tasks + (of_node - 1)) // of_node,
        tasks_per_node=pl.lit(1, pl.Int64),
        exclusive=pl.lit(value=True),
    )


def _whole(argument: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise WorkloadError(f"{argument} = {shown(value)}; must be a whole number.") from None


def _with_submit_time(
    jobs: pl.DataFrame, submit_time: np.ndarray, argument: str, begin_time: pl.Expr
) -> pl.DataFrame:
    if submit_time.size and not (submit_time.min() >= 0 and submit_time.max() <= 2**53):
        raise WorkloadError(
            f"{argument}; would submit a job at {submit_time.min():g} s to {submit_time.max():g} s; "
            "must be from 0 to 2^53 s."
        )
    # A begin time before the submission has no effect, nor has one before the origin.
    begin = [begin_time.clip(lower_bound=0.0)] if BEGIN_TIME in jobs.columns else []
    return jobs.with_columns(pl.Series("submit_time", submit_time, pl.Float64), *begin)
