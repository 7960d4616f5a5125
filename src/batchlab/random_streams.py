"""Streams of random numbers: one of its own for each use."""

import operator
import zlib
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from batchlab.errors import WorkloadError, shown

__all__ = ["Floats", "Integers", "stream"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
