"""Jobs that were cancelled before they started: the column ``cancelled_after`` (semantics, S18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "CANCELLED_AFTER",
    "cancellation_events",
    "cancellation_times",
    "longest_runs",
    "with_cancellations",
]

CANCELLED_AFTER = "cancelled_after"
"""How long a job waited until it was cancelled, seconds; null for a job that started."""


def with_cancellations(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return a table whose jobs that were cancelled before they started have the run time 0.

    Parameters
    ----------
    table
        The jobs; returned unchanged without a column ``cancelled_after``.
    source
        Name of the table in error messages.

    Returns
    -------
    polars.DataFrame
        With ``cancelled_after`` as Float64; NaN becomes null.

    Raises
    ------
    WorkloadError
        If the column does not hold numbers.
    """
    if CANCELLED_AFTER not in table.columns:
        return table
    dtype = table.schema[CANCELLED_AFTER]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise WorkloadError(
            f"{source}: column {CANCELLED_AFTER!r} is of the kind {dtype}; "
            "must be seconds after the submission."
        )
    after = pl.col(CANCELLED_AFTER).cast(pl.Float64).fill_nan(None).alias(CANCELLED_AFTER)
    table = table.with_columns(after)
    was_cancelled = pl.col(CANCELLED_AFTER).is_not_null() & pl.col("run_time").is_null()
    return table.with_columns(pl.when(was_cancelled).then(0).otherwise("run_time").alias("run_time"))


def longest_runs(jobs: pl.DataFrame, run_times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the run times of jobs; a cancelled job may run until its cancellation.

    Parameters
    ----------
    jobs
        The table of a workload.
    run_times
        float64, shape (jobs,): seconds.
    """
    if CANCELLED_AFTER not in jobs.columns:
        return run_times
    after = jobs[CANCELLED_AFTER].fill_null(np.nan).to_numpy()
    return np.where(np.isnan(after), run_times, after)


def cancellation_times(jobs: pl.DataFrame) -> npt.NDArray[np.float64] | None:
    """Return the times of cancellation of jobs that were cancelled before they started.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    numpy.ndarray or None
        float64, shape (jobs,): seconds, infinite for the other jobs; None if no job was cancelled.
    """
    if CANCELLED_AFTER not in jobs.columns or jobs[CANCELLED_AFTER].null_count() == len(jobs):
        return None
    times = jobs["submit_time"] + jobs[CANCELLED_AFTER]
    return times.fill_null(np.inf).to_numpy()


def cancellation_events(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the cancellations of a workload's jobs as external events.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    polars.DataFrame
        ``time`` (s), ``event`` and ``job_id``, by time, then by row.
    """
    if CANCELLED_AFTER not in jobs.columns:
        return pl.DataFrame(schema={"time": pl.Float64, "event": pl.String, "job_id": pl.Int64})
    found = jobs.filter(pl.col(CANCELLED_AFTER).is_not_null()).select(
        (pl.col("submit_time") + pl.col(CANCELLED_AFTER)).alias("time"),
        pl.lit("cancel").alias("event"),
        "job_id",
    )
    return found.sort("time", maintain_order=True)
