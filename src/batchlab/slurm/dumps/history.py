"""Jobs that ended on a cluster, of its log, as jobs of the workload of a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import DumpError
from batchlab.workload.columns import time_limits

if TYPE_CHECKING:
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["past_jobs", "with_past_jobs"]

_TIMES = ("submit_time", "start_time", "end_time")
_NAMES = ("user", "job_name")


def past_jobs(history: Workload, now: float) -> pl.DataFrame:
    """Return the jobs of a log that ended before now, with times in seconds since 1970 UTC.

    Raises
    ------
    DumpError
        If the log has no starts and ends, or does not say when its time 0 was.
    """
    name = history.report.named("history")
    jobs, origin = history.jobs, history.header.unix_start_time
    missing = [each for each in ("start_time", "end_time") if each not in jobs.columns]
    if missing:
        rule = "must be a log of jobs that ran"
        raise DumpError(f"{name}: has no column {missing[0]}; {rule}, as of bl.read_sacct.")
    if origin is None:
        raise DumpError(
            f"{name}: its header has no UnixStartTime; must say when it begins. Use bl.read_sacct."
        )
    times = [(pl.col(each).cast(pl.Float64) + origin).alias(each) for each in _TIMES]
    jobs = jobs.with_columns(*times, time_limit=pl.Series(time_limits(jobs)))
    is_over = (pl.col("end_time") <= now) & (pl.col("start_time") >= pl.col("submit_time"))
    return jobs.filter(is_over & (pl.col("end_time") >= pl.col("start_time")))


def with_past_jobs(
    table: pl.DataFrame, past: pl.DataFrame, system: System, origin: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add past jobs after the jobs that run or wait.

    Parameters
    ----------
    table
        The columns of the jobs that run or wait.
    past
        The result of `past_jobs`.
    system
        The machine: its resources and accounts.
    origin
        The instant of time 0, seconds since 1970 UTC.

    Returns
    -------
    tuple
        The table of all jobs; and of the past ones ``job_id``, ``start_time`` and ``end_time``.
    """
    first = max(int(table["job_id"].max() or 0), 0) + 1 if table.height else 1  # type: ignore[arg-type]  # whole
    resources = list(dict.fromkeys(name for group in system.groups for name in group.resources))
    accounts = {each.name for each in system.accounts}
    named = [pl.col(each).cast(pl.String) for each in _NAMES if each in past.columns]
    if accounts and "account" in past.columns:
        known = pl.col("account").is_in(sorted(accounts))
        named.append(pl.when(known).then("account").alias("account"))
    added = past.select(
        (first + pl.int_range(pl.len(), dtype=pl.Int64)).alias("job_id"),
        *((pl.col(each) - origin).alias(each) for each in _TIMES),
        *(pl.col(each).cast(pl.Float64) for each in ("run_time", "requested_time", "time_limit")),
        pl.col("tasks").cast(pl.Int64),
        *(pl.col(each).cast(pl.Int64) for each in resources if each in past.columns),
        *named,
    )
    if "core" not in added.columns:
        added = added.with_columns(core=pl.lit(1, pl.Int64))
    joined = pl.concat([table, added.drop("start_time", "end_time")], how="diagonal")
    whole = [pl.col(each).fill_null(0) for each in (*resources, "tasks_per_node", "nice", "priority")]
    joined = joined.with_columns(*whole, pl.col("exclusive").fill_null(value=False))
    return joined, added.select("job_id", "start_time", "end_time")
