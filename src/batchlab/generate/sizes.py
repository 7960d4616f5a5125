"""Serial and parallel sizes: Lublin's two-stage uniform distribution, fitted to a log."""

from typing import NamedTuple

import numpy as np

from batchlab.core.distributions import TwoStageUniform
from batchlab.core.random_streams import Floats, Integers

__all__ = ["SizeModel"]

_CANDIDATES = 101


class SizeModel(NamedTuple):
    """The distribution of the number of processors of jobs, following Lublin and Feitelson.

    A job is serial with some probability. The binary logarithm of a parallel job's size is two-stage uniform,
    and is rounded with another probability, which makes the size a power of two.

    Parameters
    ----------
    serial
        The probability of one processor.
    power_of_two
        The probability that a parallel job's logarithm is rounded.
    low, middle, high
        Binary logarithms of the smallest size, of the size at which the density changes, and of the largest
        size.
    probability
        The probability of a logarithm below ``middle``.
    largest
        Upper bound of sizes.
    """

    serial: float
    power_of_two: float
    low: float
    middle: float
    high: float
    probability: float
    largest: int

    @classmethod
    def fit(cls, sizes: Integers) -> "SizeModel":
        """Fit the parameters to the sizes in a log.

        ``low`` is half a unit below the smallest parallel job, since rounding would halve its probability,
        and ``high`` is the largest job. ``probability`` matches the mean size of the log's parallel jobs;
        among the possible ``middle``, the one that minimises the maximum distance to the log's distribution
        is chosen.
        """
        parallel = np.sort(sizes[sizes > 1])
        serial = 1 - len(parallel) / len(sizes)
        if not parallel.size:
            return cls(1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1)
        largest = int(parallel[-1])
        low, high = float(np.log2(parallel[0])) - 0.5, float(np.log2(largest))
        middle, probability = _bend(parallel, low, high)
        share = float(np.mean(parallel & (parallel - 1) == 0))
        anyway = _powers_of_two(largest, (low, middle, high), (0.0, probability, 1.0))
        power_of_two = max((share - anyway) / (1 - anyway), 0.0) if anyway < 1 else 1.0
        return cls(serial, power_of_two, low, middle, high, probability, largest)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw sizes: whole numbers from 1 to ``largest``."""
        kind = random.random(count)
        stages = TwoStageUniform(self.low, self.middle, self.high, self.probability)
        logarithm = stages.sample(random, count)
        rounded = kind < self.serial + (1 - self.serial) * self.power_of_two
        exponent = np.minimum(np.rint(logarithm), self.largest.bit_length() - 1)
        size = np.rint(np.exp2(np.where(rounded, exponent, logarithm)))
        smallest = np.rint(np.exp2(self.low + 0.5))
        parallel = np.clip(size, min(smallest, self.largest), self.largest)
        return np.asarray(np.where(kind < self.serial, 1.0, parallel), dtype=np.float64)


def _powers_of_two(largest: int, bends: tuple[float, ...], shares: tuple[float, ...]) -> float:
    """Return the fraction of powers of two among sizes whose logarithms are not rounded."""
    powers = np.exp2(np.arange(1, largest.bit_length()))
    above, below = np.log2(np.minimum(powers + 0.5, largest)), np.log2(powers - 0.5)
    return float((np.interp(above, bends, shares) - np.interp(below, bends, shares)).sum())


def _bend(sizes: Integers, low: float, high: float) -> tuple[float, float]:
    """Return the bend and its probability for which a two-stage uniform distribution fits best."""
    at = np.linspace(low, high, _CANDIDATES)
    below = np.searchsorted(np.log2(sizes), at, side="right") / len(sizes)
    best, least = (high, 1.0), np.inf
    for middle in at[1:-1]:
        small, large = _mean(low, middle), _mean(middle, high)
        probability = (large - sizes.mean()) / (large - small)
        line = np.interp(at, [low, middle, high], [0.0, probability, 1.0])
        distance = float(np.abs(line - below).max())
        if 0 <= probability <= 1 and distance < least:
            best, least = (float(middle), float(probability)), distance
    return best


def _mean(low: float, high: float) -> float:
    """Return the mean of 2^x for x uniform between low and high."""
    return float((np.exp2(high) - np.exp2(low)) / ((high - low) * np.log(2.0)))
