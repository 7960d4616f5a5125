"""Confidence intervals of any statistic of jobs over time, by a bootstrap of blocks of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import QueueingError
from batchlab.queueing.checks import Floats, Integers, numbers, positive, whole
from batchlab.queueing.intervals import confidence_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

__all__ = ["Bootstrap", "block_bootstrap", "block_counts", "usual_block"]

_DAY = 86_400.0
_LEAST_BLOCKS = 10


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Statistics with their confidence intervals.

    Parameters
    ----------
    estimate
        float64, of any shape: the statistics of what was observed.
    low, high
        Of the same shape: the ends of the intervals; NaN where no resample has the statistic.
    confidence
        The probability with which such intervals hold the true value.
    block
        The length of the blocks, seconds.
    resamples
        How often blocks were drawn.
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
    """Give statistics of jobs with confidence intervals that allow for jobs that depend on their neighbours.

    Waits of jobs that are submitted after one another are much alike: to draw single jobs would give
    intervals that are far too short. Blocks of time are drawn instead, with all the jobs submitted in them.
    To compare alternatives let one statistic give all of them, and their differences: the same blocks are
    drawn for all.

    Parameters
    ----------
    times
        Shape (n,): when each job was submitted, seconds, in any order.
    statistic
        Gives an array of float64 for the counts of all jobs, int64 of shape (n,): how often each is there.
        NaN where a statistic is not defined.
    block
        The length of the blocks, seconds; `usual_block` unless given. It must be much longer than the time
        over which waits depend on one another, and much shorter than the period.
    resamples
        How often blocks are drawn, >= 2.
    confidence
        The level, between 0 and 1.
    seed
        Of the draws; the same seed gives the same intervals.

    Returns
    -------
    Bootstrap
        The intervals lie between the quantiles (1 ± confidence) / 2 of the resampled statistics.

    Raises
    ------
    QueueingError
        If there are fewer than two times, or a value breaks its rule.

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


def block_counts(times: Floats, block: float, resamples: int, seed: int) -> Iterator[Integers]:
    """Draw blocks of time, again and again, and give how often each job is in them.

    The period is closed to a circle, so that jobs at its ends are drawn as often as others. As many blocks
    are drawn as cover the period. O(n) for each resample.

    Parameters
    ----------
    times
        Shape (n,): when each job was submitted, seconds.
    block
        The length of a block, seconds; cut to the period.
    resamples
        How often.
    seed
        Of the draws.

    Yields
    ------
    numpy.ndarray
        int64, shape (n,).

    Raises
    ------
    QueueingError
        If there are fewer than two jobs, or all were submitted at one time.
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


def usual_block(times: Floats) -> float:
    """Give the usual length of a block, seconds: a day, since load goes by days; at most a tenth of all."""
    return min(_DAY, _period(np.sort(times))[1] / _LEAST_BLOCKS)


def _period(ordered: Floats) -> tuple[float, float]:
    """Give when a circle begins, and how long it is: from the first job to the last, and one gap more."""
    if len(ordered) < 2 or ordered[0] == ordered[-1]:  # noqa: PLR2004  # one job has no period
        raise QueueingError(
            f"times: {len(ordered)} jobs at one time or none; blocks of time need jobs at several times."
        )
    first, span = float(ordered[0]), float(ordered[-1] - ordered[0])
    return first, span + span / (len(ordered) - 1)


def _covered(ordered: Floats, begins: Floats, ends: Floats, period: float) -> Integers:
    """Count for each time the blocks [begin, end) that cover it, also those that go on at the first time."""
    changes = np.zeros(len(ordered) + 1, np.int64)
    for shift in (0.0, period):
        np.add.at(changes, np.searchsorted(ordered, begins - shift), 1)
        np.add.at(changes, np.searchsorted(ordered, ends - shift), -1)
    return np.cumsum(changes[:-1])


def _quantiles(drawn: Floats, level: float) -> tuple[Floats, Floats]:
    """Give the ends of the intervals, of the resamples that have the statistic."""
    ordered = np.sort(drawn, axis=0)
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    low, high = (
        np.take_along_axis(ordered, _place(part, known)[np.newaxis], axis=0)[0]
        for part in ((1 - level) / 2, (1 + level) / 2)
    )
    return low, high


def _place(part: float, known: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    # NaN is sorted to the end; where there is nothing else, it is what is taken.
    places: npt.NDArray[np.intp] = np.maximum(np.rint(part * (known - 1)), 0).astype(np.intp)
    return places
