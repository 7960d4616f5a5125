"""Start and end times of jobs in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["logged_start", "logged_times"]

_SWF_CANCELLED = 5
_WAIT = "logged_wait_time"


def logged_start(jobs: pl.DataFrame) -> pl.Expr | None:
    """Return the start of each job in its log.

    Parameters
    ----------
    jobs
        The jobs of a workload with ``start_time``, or ``logged_wait_time`` (from SWF).

    Returns
    -------
    polars.Expr or None
        Seconds; null for a job that did not start. None if the log has no starts.
    """
    if "start_time" in jobs.columns:
        return pl.col("start_time").cast(pl.Float64)
    if _WAIT not in jobs.columns or not (jobs[_WAIT] >= 0).any():
        return None
    started = pl.col(_WAIT) >= 0
    if "status" in jobs.columns:
        # A job that was cancelled in the queue has a wait time, but never started.
        started &= (pl.col("status") != _SWF_CANCELLED) | (pl.col("run_time") > 0)
    return pl.when(started).then(pl.col("submit_time") + pl.col(_WAIT)).cast(pl.Float64)


def logged_times(jobs: pl.DataFrame) -> Mapping[str, pl.Series] | None:
    """Return start and end of each job in its log.

    Parameters
    ----------
    jobs
        The jobs of a workload.

    Returns
    -------
    dict or None
        ``start_time`` and ``end_time``, Float64, seconds; null for a job that did not start and end after
        its submission. The end is the column ``end_time``, else the start and ``run_time``. None if the log
        has no starts.
    """
    start = logged_start(jobs)
    if start is None:
        return None
    end = pl.col("end_time").cast(pl.Float64) if "end_time" in jobs.columns else start + pl.col("run_time")
    ran = (start >= pl.col("submit_time")) & (end >= start)
    return jobs.select(start_time=pl.when(ran).then(start), end_time=pl.when(ran).then(end)).to_dict()
