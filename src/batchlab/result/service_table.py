"""The table of the intervals in which jobs were served, and of the work done in them (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.vocabulary import JOB_STATES
from batchlab.result.course import done_in_runs, rates_of
from batchlab.workload.work import work_of_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.service_intervals import RunRecord, ServiceIntervals

    Floats = npt.NDArray[np.float64]

__all__ = ["service_intervals_table", "work_required"]

_COMPLETED = JOB_STATES.index("completed")


def work_required(run: RunRecord, runs: ServiceIntervals, done: Floats) -> Floats:
    """Compute the work of each job; if an event ended its run, the work that it had done by then.

    Parameters
    ----------
    run, runs
        A run, and its intervals.
    done
        Units of work done in each interval.
    """
    work = work_of_jobs(run.workload, run.options.reference_rate)
    short = run.outcome.tables.get("short_runs")
    if short is None or not short["ended"].any():
        return work
    kept = np.bincount(runs.row, np.where(np.isnan(runs.saved), done, runs.saved), len(work))
    rows = short["row"][short["ended"]]
    required = work.copy()
    required[rows] = np.minimum(work[rows], kept[rows])
    return required


def service_intervals_table(run: RunRecord, runs: ServiceIntervals) -> pl.DataFrame:
    """List when jobs held their nodes, when they were served, and the work that they did and kept.

    Parameters
    ----------
    run, runs
        A run, and its intervals.

    Returns
    -------
    polars.DataFrame
        By row and time: ``job_id`` (Int64), ``row`` (UInt32), ``start_time``, ``end_time``, ``work_start``
        and ``work_end`` (Float64, s; null if still to come), ``work`` (Float64, units of work, without what
        overheads add; null if it was not done).
    """
    outcome, done = run.outcome, done_in_runs(rates_of(run), runs)
    is_last = np.isnan(runs.saved)
    kept = np.bincount(runs.row[~is_last], runs.saved[~is_last], len(outcome.state))
    required = work_required(run, runs, done)
    left = np.maximum(required - kept, 0.0)
    of_last = np.where(outcome.state == _COMPLETED, left, np.nan)
    goes_on = is_last & np.isnan(outcome.end_time[runs.row])
    waits = goes_on & (runs.begin >= outcome.now)

    def times(name: str, values: Floats, are_to_come: npt.NDArray[np.bool_]) -> pl.Series:
        return pl.Series(name, np.where(are_to_come, np.nan, values), nan_to_null=True)

    table = pl.DataFrame(
        [
            run.workload.jobs["job_id"].gather(runs.row),
            pl.Series("row", runs.row.astype(np.uint32)),
            pl.Series("start_time", runs.start),
            times("end_time", runs.end, goes_on),
            times("work_start", runs.begin, waits),
            times("work_end", runs.over, goes_on & (runs.over >= outcome.now)),
            pl.Series("work", np.where(is_last, of_last[runs.row], runs.saved), nan_to_null=True),
        ]
    )
    table = table.sort("row", "start_time", "end_time", maintain_order=True)
    return table.with_columns(_without_overhead(table, required)) if (kept > required).any() else table


def _without_overhead(table: pl.DataFrame, required: Floats) -> pl.Series:
    """Compute the work of each interval; what jobs keep beyond their work are overheads of execution."""
    at_most = pl.lit(pl.Series(required[table["row"].to_numpy()]))
    so_far = pl.col("work").cum_sum().over("row")
    before = so_far - pl.col("work")
    within = pl.min_horizontal(so_far, at_most) - pl.min_horizontal(before, at_most)
    exact = pl.when(so_far > at_most).then(within).otherwise("work")
    return table.select(pl.when(pl.col("work").is_not_null()).then(exact).alias("work")).to_series()
