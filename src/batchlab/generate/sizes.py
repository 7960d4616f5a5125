"""Serial or parallel, and how large: Lublin's two-stage uniform distribution, with the numbers of a log."""

from typing import NamedTuple

import numpy as np

from batchlab.core.distributions import TwoStageUniform
from batchlab.random_streams import Floats, Integers

__all__ = ["SizeModel"]

_CANDIDATES = 101


class SizeModel(NamedTuple):
    """The numbers of processors of jobs, after Lublin and Feitelson.

    A job is serial with a probability. The binary logarithm of a parallel job's size is two-stage uniform,
    and with another probability it is rounded, which makes the size a power of two.

    Parameters
    ----------
    serial
        The probability of one processor.
    power_of_two
        The probability that a parallel job's logarithm is rounded.
    low, middle, high
        Binary logarithms: those of the smallest and the largest parallel job, and where the density changes.
    probability
        That of a logarithm below ``middle``.
    largest
        No job is larger.
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
        """Take the numbers from a log.

        ``low`` is half a unit below the smallest parallel job, since rounding would halve its share, and
        ``high`` the largest job. ``probability`` gives parallel jobs the log's mean size; of all ``middle``
        that allow for that, the one with the least greatest distance to the log's distribution is taken.
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
    """Give the share of powers of two among sizes whose logarithms are not rounded."""
    powers = np.exp2(np.arange(1, largest.bit_length()))
    above, below = np.log2(np.minimum(powers + 0.5, largest)), np.log2(powers - 0.5)
    return float((np.interp(above, bends, shares) - np.interp(below, bends, shares)).sum())


def _bend(sizes: Integers, low: float, high: float) -> tuple[float, float]:
    """Find where, and at which share, the broken line of a two-stage uniform follows a distribution best."""
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
    """Give the mean of two to the power of what is uniform between low and high."""
    return float((np.exp2(high) - np.exp2(low)) / ((high - low) * np.log(2.0)))
