"""Time limits of jobs: the column ``time_limit``, or their requested times (semantics, S3)."""

import math

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["TIME_LIMIT", "has_own_limits", "time_limits"]

TIME_LIMIT = "time_limit"


def time_limits(jobs: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return the time limits of jobs.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    numpy.ndarray
        float64, shape (jobs,): seconds, infinite for a job without a limit. Without a column ``time_limit``,
        the limit of a job is its ``requested_time``.
    """
    if TIME_LIMIT not in jobs.columns:
        return jobs["requested_time"].to_numpy()
    return jobs[TIME_LIMIT].cast(pl.Float64).fill_null(math.inf).to_numpy()


def has_own_limits(jobs: pl.DataFrame) -> bool:
    """Return whether the time limit of any job differs from its requested time."""
    return TIME_LIMIT in jobs.columns and not jobs[TIME_LIMIT].equals(
        jobs["requested_time"], check_names=False, null_equal=True
    )
