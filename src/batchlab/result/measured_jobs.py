"""Which jobs have a wait, a turnaround and a slowdown (semantics, S18)."""

from __future__ import annotations

import polars as pl

from batchlab.workload.run_events import RUN_EVENTS

__all__ = ["counted", "is_measured"]


def is_measured(jobs: pl.DataFrame) -> pl.Expr:
    """Return whether jobs are measured: all but those that are known to be cancelled before they started.

    Parameters
    ----------
    jobs
        A table of a result; without ``state`` all of its jobs are measured.

    Returns
    -------
    polars.Expr
        True for a job that was cancelled while it ran.
    """
    if "state" not in jobs.columns:
        return pl.lit(value=True)
    measured = (pl.col("state") != "cancelled").fill_null(value=True)
    if RUN_EVENTS in jobs.columns:
        measured |= pl.col(RUN_EVENTS).str.ends_with("cancel").fill_null(value=False)
    return measured


def counted(jobs: pl.DataFrame, measured: pl.Expr) -> pl.Expr:
    """Return a measure of the jobs that are measured; null for the others.

    Parameters
    ----------
    jobs
        As for `is_measured`.
    measured
        The measure of all jobs.
    """
    return pl.when(is_measured(jobs)).then(measured)
