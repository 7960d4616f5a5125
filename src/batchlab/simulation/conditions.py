"""Kernel inputs of jobs that wait for other jobs, a begin time or a free slot of their job array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.workload.arrays import places
from batchlab.workload.dependencies import BEGIN_TIME, graph

if TYPE_CHECKING:
    from batchlab._kernel import ConditionColumns
    from batchlab.workload import Workload

__all__ = ["conditions"]


def conditions(workload: Workload) -> ConditionColumns | None:
    """Build the conditions that jobs wait for before they enter the queue.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict or None
        Rows as in the workload, times in seconds since its origin. None if no job has a condition.
    """
    jobs = workload.jobs
    made = graph(jobs)
    begin_times = None
    if BEGIN_TIME in jobs.columns and jobs[BEGIN_TIME].count():
        begin_times = jobs[BEGIN_TIME].fill_null(0.0).to_numpy()
    found, limits = places(jobs)
    if made is None and begin_times is None and not limits:
        return None
    return {
        "clauses": made.clauses if made else [],
        "groups": made.groups if made else [],
        "begin_times": begin_times,
        "places": found,
        "limits": limits,
    }
