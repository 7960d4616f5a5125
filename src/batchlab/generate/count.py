"""Checks of the number of jobs to generate."""

import operator
from typing import SupportsIndex

from batchlab.errors import WorkloadError, shown

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
    try:
        number = operator.index(jobs)
    except TypeError:
        number = 0
    if not 1 <= number <= _MOST_JOBS:
        raise WorkloadError(f"jobs = {shown(jobs)}; must be a whole number from 1 to 10^9.")
    return number
