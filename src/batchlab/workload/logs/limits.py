"""Time limits of logged jobs, and the times that schedulers plan with (S3)."""

import math
from collections.abc import Mapping

import polars as pl

from batchlab.workload import reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.reading import YEAR, Reading

__all__ = ["OF_PARTITION", "with_limits"]

OF_PARTITION = "limit of the partition"
"""Record column: whether a job has the maximum time limit of its partition."""


def with_limits(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add ``requested_time``, and ``time_limit`` if a job has no limit.

    Parameters
    ----------
    jobs
        With ``limit``, seconds: infinite for no limit, null if unknown; ``run_time``, ``partition``,
        ``queue``, and optionally `OF_PARTITION`.
    notes
        Collects remarks on assumed limits.
    reading
        The substitutes for no limit, and for the limit of a partition.
    """
    unlimited = (pl.col("limit") == math.inf).fill_null(value=False)
    taken = _of_places(reading.unlimited, YEAR)
    if OF_PARTITION in jobs.columns and reading.partition_limits:
        own = _of_places(reading.partition_limits, None)
        taken = pl.coalesce(pl.when(pl.col(OF_PARTITION)).then(own), taken)
    jobs = jobs.with_columns(
        unlimited.alias("unlimited"),
        pl.when(unlimited).then(taken).otherwise("limit").alias("requested_time"),
    )
    endless = pl.col("unlimited") & (pl.col("requested_time") == YEAR)
    if jobs.select(endless.any()).item():
        unknown = jobs.filter(pl.col("requested_time").is_null())
        notes.add("mended", reasons.REQUESTED_TIME_UNKNOWN, unknown["line"], unknown["job_id"])
        known = pl.coalesce("requested_time", "run_time")
        # The planned time is not a limit at which a job is killed.
        jobs = jobs.with_columns(known, pl.when(endless).then(math.inf).otherwise(known).alias(TIME_LIMIT))
    free = jobs.filter("unlimited")
    for seconds, part in free.group_by("requested_time", maintain_order=True):
        reason = f"no time limit of its own: {seconds[0]:,.0f} s taken"
        notes.add("mended", reason, part["line"], part["job_id"])
    return jobs.drop("unlimited", OF_PARTITION, strict=False)


def _of_places(given: float | Mapping[str, float], default: float | None) -> pl.Expr:
    """Return a number of seconds for all jobs, or the value of each job's partition or queue."""
    if not isinstance(given, Mapping):
        return pl.lit(float(given))
    names, values = list(given), [float(each) for each in given.values()]
    return pl.coalesce("partition", "queue").replace_strict(
        names, values, default=default, return_dtype=pl.Float64
    )
