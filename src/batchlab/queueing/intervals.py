"""Confidence intervals: of means, by batch means, and of any statistic over time by a block bootstrap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import QueueingError
from batchlab.queueing.conversion import Floats, Integers, numbers, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt


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


@checked(QueueingError)
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


@checked(QueueingError)
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


_DAY = 86_400.0
_LEAST_BLOCKS = 10


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Statistics with their confidence intervals.

    Parameters
    ----------
    estimate
        float64, of any shape: the statistics of the observed jobs.
    low, high
        Same shape: the ends of the intervals; NaN if no resample has the statistic.
    confidence
        The probability that such intervals contain the true value.
    block
        The length of the blocks, seconds.
    resamples
        Number of resamples.
    """

    estimate: Floats
    low: Floats
    high: Floats
    confidence: float
    block: float
    resamples: int


def block_bootstrap(
    times: npt.ArrayLike,
    statistic: Callable[[Integers], Floats],
    *,
    block: float | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bootstrap:
    """Compute statistics of jobs with confidence intervals that allow for dependence between neighbours.

    Waits of jobs with close submit times are similar: drawing single jobs would result in intervals that are
    far too short. Therefore blocks of time are drawn, with all the jobs submitted in them. To compare
    alternatives, return all of them and their differences from one statistic: the same blocks are used for
    all.

    Parameters
    ----------
    times
        Shape (n,): submit time of each job, seconds, in any order.
    statistic
        Returns an array of float64 for the counts of all jobs, int64 of shape (n,): the multiplicity of each
        job. NaN if a statistic is undefined.
    block
        The length of the blocks, seconds. It must be much longer than the time over which waits are
        dependent, and much shorter than the period. [default: `usual_block`]
    resamples
        The number of resamples, >= 2.
    confidence
        The confidence level, between 0 and 1.
    seed
        Seed of the draws; the same seed results in the same intervals.

    Returns
    -------
    Bootstrap
        The ends of the intervals are the quantiles (1 ± confidence) / 2 of the resampled statistics.

    Raises
    ------
    QueueingError
        If there are fewer than two times, or an argument is invalid.

    References
    ----------
    H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of
    Statistics 17(3), 1989. D. N. Politis and J. P. Romano, "A circular block-resampling procedure for
    stationary data", in "Exploring the limits of bootstrap", 1992.

    Examples
    --------
    >>> waits = np.arange(100) % 10.0
    >>> found = block_bootstrap(
    ...     np.arange(100.0), lambda counts: np.array([waits @ counts / counts.sum()]), block=10
    ... )
    >>> found.estimate, found.low, found.high
    (array([4.5]), array([4.5]), array([4.5]))
    """
    level = confidence_level(confidence)
    column = numbers("times", times)
    length = usual_block(column) if block is None else positive("block", block)
    count = whole("resamples", resamples, 2)
    drawn = [statistic(each) for each in block_counts(column, length, count, seed)]
    low, high = _quantiles(np.stack(drawn), level)
    estimate = statistic(np.ones(len(column), np.int64))
    return Bootstrap(estimate, low, high, level, length, count)


@checked(QueueingError)
def block_counts(times: Floats, block: float, resamples: int, seed: int) -> Iterator[Integers]:
    """Draw blocks of time repeatedly, and yield the multiplicity of each job in them.

    The period is closed to a circle, so that jobs at its ends are drawn as often as others. The number of
    blocks is chosen to cover the period. O(n) for each resample.

    Parameters
    ----------
    times
        Shape (n,): submit time of each job, seconds.
    block
        The length of a block, seconds; at most the period is used.
    resamples
        The number of resamples.
    seed
        Seed of the draws.

    Yields
    ------
    numpy.ndarray
        int64, shape (n,).

    Raises
    ------
    QueueingError
        If there are fewer than two jobs, or all have the same submit time.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    first, period = _period(ordered)
    length = min(block, period)
    blocks = max(1, round(period / length))
    chance = np.random.default_rng(seed)
    for _ in range(resamples):
        begins = first + period * chance.random(blocks)
        counts = np.empty(len(times), np.int64)
        counts[order] = _covered(ordered, begins, begins + length, period)
        yield counts


@checked(QueueingError)
def usual_block(times: Floats) -> float:
    """Return the default block length, seconds: a day (load is periodic), at most a tenth of the period."""
    return min(_DAY, _period(np.sort(times))[1] / _LEAST_BLOCKS)


def _period(ordered: Floats) -> tuple[float, float]:
    """Return begin and length of the circle: the span of submissions, plus one mean gap."""
    if len(ordered) < 2 or ordered[0] == ordered[-1]:  # noqa: PLR2004  # one job has no period
        raise QueueingError(
            f"times: {len(ordered)} jobs at one time or none; blocks of time need jobs at several times."
        )
    first, span = float(ordered[0]), float(ordered[-1] - ordered[0])
    return first, span + span / (len(ordered) - 1)


def _covered(ordered: Floats, begins: Floats, ends: Floats, period: float) -> Integers:
    """Count the blocks [begin, end) that cover each time, including blocks that wrap around."""
    changes = np.zeros(len(ordered) + 1, np.int64)
    for shift in (0.0, period):
        np.add.at(changes, np.searchsorted(ordered, begins - shift), 1)
        np.add.at(changes, np.searchsorted(ordered, ends - shift), -1)
    return np.cumsum(changes[:-1])


def _quantiles(drawn: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the intervals, over the resamples that have the statistic."""
    ordered = np.sort(drawn, axis=0)
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    low, high = (
        np.take_along_axis(ordered, _place(part, known)[np.newaxis], axis=0)[0]
        for part in ((1 - level) / 2, (1 + level) / 2)
    )
    return low, high


def _place(part: float, known: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    # NaN sorts last; if all values are NaN, the result is NaN.
    places: npt.NDArray[np.intp] = np.maximum(np.rint(part * (known - 1)), 0).astype(np.intp)
    return places
