"""What every generator needs: checked arguments, and a stream of random numbers of its own for each use."""

import operator
import zlib
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from batchlab.errors import WorkloadError, shown

__all__ = ["Floats", "Integers", "count_of_jobs", "stream"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MOST_JOBS = 10**9


def stream(seed: SupportsIndex, use: str) -> np.random.Generator:
    """Make the generator for one use of chance: PCG64, the same for the same seed and use on every platform.

    Uses do not disturb each other: with more sizes drawn, run times are the same.

    Parameters
    ----------
    seed
        A whole number >= 0.
    use
        What the numbers are for.

    Returns
    -------
    numpy.random.Generator
        At its beginning.

    Raises
    ------
    WorkloadError
        If the seed is no whole number >= 0.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise WorkloadError(f"seed = {shown(seed)}; must be a whole number >= 0.")
    sequence = np.random.SeedSequence(number, spawn_key=(zlib.crc32(use.encode()),))
    return np.random.Generator(np.random.PCG64(sequence))


def count_of_jobs(jobs: SupportsIndex) -> int:
    """Check a number of jobs.

    Parameters
    ----------
    jobs
        The argument.

    Returns
    -------
    int
        The same.

    Raises
    ------
    WorkloadError
        If it is no whole number from 1 to 10^9.
    """
    try:
        number = operator.index(jobs)
    except TypeError:
        number = 0
    if not 1 <= number <= _MOST_JOBS:
        raise WorkloadError(f"jobs = {shown(jobs)}; must be a whole number from 1 to 10^9.")
    return number
