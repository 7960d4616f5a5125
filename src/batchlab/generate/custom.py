"""Workloads from chosen distributions of arrivals, sizes, run times and estimates."""

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.distributions import Distribution, draw
from batchlab.errors import WorkloadError
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from batchlab.workload.header import Header


_MOST_JOBS = 10**9


def count_of_jobs(jobs: SupportsIndex) -> int:
    """Check a number of jobs.

    Parameters
    ----------
    jobs
        The argument.

    Returns
    -------
    int
        The number.

    Raises
    ------
    WorkloadError
        If the argument is not a whole number from 1 to 10^9.
    """
    return rules.check(WorkloadError, "jobs", jobs, rules.Whole(1, _MOST_JOBS))


_FINEST = 1000.0


def from_distributions(
    jobs: int,
    *,
    arrival: Distribution | str,
    size: Distribution | str,
    run_time: Distribution | str,
    overestimate: Distribution | str | None = None,
    largest: int | None = None,
    header: "Header | None" = None,
    seed: int = 0,
) -> Workload:
    """Generate independent jobs from distributions, which are objects or specs.

    Parameters
    ----------
    jobs
        Number of jobs, from 1 to 10^9.
    arrival
        The seconds between consecutive submissions. The first job is submitted at 0.
    size
        The number of tasks; rounded, and at least 1.
    run_time
        Seconds; rounded to milliseconds, and at least 1 ms.
    overestimate
        Ratio of requested time to run time, at least 1. Without it, requested times equal run times.
    largest
        Larger sizes are reduced to this one.
    header
        The header of the workload.
    seed
        The same seed generates the same jobs; each distribution has its own random stream.

    Returns
    -------
    Workload
        Sorted by submission.

    Raises
    ------
    WorkloadError
        If a distribution has no ``sample``, or returns a wrong number of values or values that are no numbers
        >= 0.

    Examples
    --------
    >>> from batchlab.generate import Constant, Harmonic
    >>> made = from_distributions(
    ...     3, arrival=Constant(60), size=Harmonic(1.5, largest=64), run_time="lognorm(mu=6.4, sigma=1.5)"
    ... )
    >>> made.jobs["submit_time"].to_list()
    [0.0, 60.0, 120.0]
    """
    jobs = count_of_jobs(jobs)
    largest = rules.check(WorkloadError, "largest", largest, rules.Optional(rules.COUNT))
    intervals = draw("arrival", arrival, jobs, seed)
    intervals[0] = 0.0
    tasks = np.clip(np.rint(draw("size", size, jobs, seed)), 1, largest or 2**32 - 1)
    ran = np.maximum(np.rint(draw("run_time", run_time, jobs, seed) * _FINEST), 1) / _FINEST
    factor = 1.0 if overestimate is None else np.maximum(draw("overestimate", overestimate, jobs, seed), 1)
    table = {
        "job_id": np.arange(1, jobs + 1),
        "submit_time": np.rint(np.cumsum(intervals) * _FINEST) / _FINEST,
        "run_time": ran,
        "requested_time": np.ceil(ran * factor) if overestimate else ran,
        "tasks": tasks.astype(np.int64),
    }
    return Workload.from_table(pl.DataFrame(table), resources=(), invalid="raise", header=header)
