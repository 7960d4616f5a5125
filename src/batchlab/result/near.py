"""Comparison of the simulated schedule with that of the log: the same measures of the same jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import polars as pl

from batchlab.result import metrics
from batchlab.result.metrics import is_measured
from batchlab.result.warnings import LogFacts, unlike_log
from batchlab.workload.run_events import last_starts, logged_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.policy.policy import Policy
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["both_schedules", "facts_of", "overview", "warnings"]


def both_schedules(workload: Workload, jobs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Return the jobs that ran in the log and in the simulation, with the times of either.

    Parameters
    ----------
    workload
        The jobs, with the columns of their log.
    jobs
        The table of a result, with ``submit_time``, ``start_time``, ``end_time`` and ``run_time``.

    Returns
    -------
    tuple of polars.DataFrame, or None
        The table with the times of the log, and the table with the simulated times: the same rows, with
        ``row``, their number in the workload. None if the log has no starts, or no job ran in both.
    """
    logged = logged_times(workload.jobs)
    if logged is None:
        return None
    table = jobs.with_row_index("row").with_columns(
        log_start=last_starts(workload.jobs, logged), log_end=logged["end_time"]
    )
    ran = [pl.col(name).is_not_null() for name in ("start_time", "end_time", "log_start", "log_end")]
    # Jobs that were cancelled before they started are not part of a mean wait (S18).
    both = table.filter(*ran, is_measured(table))
    if both.is_empty():
        return None
    log_start, log_end = pl.col("log_start"), pl.col("log_end")
    log = both.with_columns(start_time=log_start, end_time=log_end, run_time=log_end - log_start)
    return (log.drop("log_start", "log_end", "state", strict=False), both.drop("log_start", "log_end"))


def overview(
    workload: Workload, jobs: pl.DataFrame, system: System, threshold: float = metrics.USUAL_THRESHOLD
) -> dict[str, object]:
    """Measure the schedule of the log and the simulated one, over the jobs that ran in both.

    Parameters
    ----------
    workload, jobs
        As for `both_schedules`.
    system
        The machine. In the schedule of the log too, a job holds what it is allocated in the simulation.
    threshold
        The threshold of the bounded slowdowns, in seconds.

    Returns
    -------
    dict
        ``log``: ``jobs`` (how many), ``wait``, ``bounded_slowdown`` and ``utilisation`` of the log, as
        `batchlab.metrics.overview` has them, and the same of the simulation as ``simulated``; ready for
        `json.dumps`. Empty if the log has no starts, or no job ran in both.
    """
    both = both_schedules(workload, jobs)
    if both is None:
        return {}
    log, simulated = (_measured(each, system, threshold) for each in both)
    return {"log": {"jobs": len(both[0]), **log, "simulated": simulated}}


def _measured(jobs: pl.DataFrame, system: System, threshold: float) -> dict[str, object]:
    return {
        "wait": metrics.describe(metrics.wait(jobs)),
        "bounded_slowdown": metrics.describe(metrics.bounded_slowdown(jobs, threshold)),
        "utilisation": metrics.utilisation(jobs, system),
    }


def facts_of(workload: Workload) -> LogFacts:
    """Collect the facts of a log that matter for how near a simulation is to it."""
    jobs = workload.jobs
    has_ignored = "requested_memory" in jobs.columns and "mem" not in workload.resources
    return LogFacts(
        read=workload.report.read or len(jobs),
        without_limit=int((jobs["requested_time"] <= jobs["run_time"]).sum()),
        kept=len(jobs),
        ignored_memory=int((jobs["requested_memory"] > 0).sum()) if has_ignored else 0,
    )


def warnings(
    workload: Workload, system: System, policy: Policy, measured: Mapping[str, object]
) -> Iterator[str]:
    """Yield the line of `unlike_log` about a run, from its measures with those of `overview`."""
    if "log" in measured:
        log = cast("Mapping[str, Any]", measured["log"])
        yield from unlike_log(log, lambda: facts_of(workload), system, policy)
