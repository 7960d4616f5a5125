"""Checks of the number of jobs to generate."""

from typing import SupportsIndex

from batchlab.core import rules
from batchlab.errors import WorkloadError

__all__ = ["count_of_jobs"]

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
