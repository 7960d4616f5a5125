"""Confidence intervals of means, and batch means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from batchlab.core import rules
from batchlab.errors import QueueingError

if TYPE_CHECKING:
    from batchlab.queueing.checks import Floats

__all__ = ["Interval", "batch_means", "confidence_level", "interval"]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Parameters
    ----------
    mean
        The estimate.
    low, high
        The ends of the interval.
    confidence
        The probability that such intervals contain the true value.
    count
        The number of values.
    """

    mean: float
    low: float
    high: float
    confidence: float
    count: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    @property
    def relative_precision(self) -> float:
        """The half width over the absolute value of the mean; infinite if only the mean is 0."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def confidence_level(confidence: float) -> float:
    """Check the level of a confidence interval."""
    return float(rules.check(QueueingError, "confidence", confidence, rules.CONFIDENCE))


def interval(values: Floats, confidence: float = 0.95) -> Interval:
    """Compute the mean of independent values with Student's confidence interval.

    Parameters
    ----------
    values
        Shape (n,), n >= 2.
    confidence
        The confidence level, between 0 and 1.

    Returns
    -------
    Interval
        mean ± t s / √n, where t is the quantile at (1 + confidence) / 2 with n − 1 degrees of freedom.

    Raises
    ------
    QueueingError
        If there are fewer than two values, or the level is not between 0 and 1.
    """
    level, count = confidence_level(confidence), len(values)
    if count < 2:  # noqa: PLR2004  # one has no deviation
        raise QueueingError(f"values has {count} rows; a confidence interval needs at least 2.")
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    half = float(stdtrit(count - 1, (1 + level) / 2)) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, level, count)


def batch_means(observations: Floats, batches: int) -> Floats:
    """Compute the means of batches of consecutive observations, all of the same size.

    Parameters
    ----------
    observations
        Shape (n,), n >= batches. The first n mod batches are skipped.
    batches
        The number of batches.

    Returns
    -------
    numpy.ndarray
        Shape (batches,). Nearly independent if batches are much longer than the correlation.

    Raises
    ------
    QueueingError
        If there are fewer observations than batches.
    """
    if len(observations) < batches:
        raise QueueingError(
            f"batches = {batches} of {len(observations)} observations; ask for fewer, or observe longer."
        )
    kept = observations[len(observations) % batches :]
    means: Floats = kept.reshape(batches, -1).mean(axis=1)
    return means
