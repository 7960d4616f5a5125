"""Independent streams of random numbers, one for each use."""

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
    """Return the generator for one use: PCG64, the same for equal seeds and uses on every platform.

    Uses are independent: drawing more job sizes does not change run times.

    Parameters
    ----------
    seed
        An integer >= 0.
    use
        The name of the use.

    Returns
    -------
    numpy.random.Generator
        At the beginning of its stream.

    Raises
    ------
    WorkloadError
        If the seed is not an integer >= 0.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise WorkloadError(f"seed = {shown(seed)}; must be a whole number >= 0.")
    sequence = np.random.SeedSequence(number, spawn_key=(zlib.crc32(use.encode()),))
    return np.random.Generator(np.random.PCG64(sequence))
