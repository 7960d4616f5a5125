"""Submission times after the slot weights of a log, corrected while they are made: AccaSim's generator."""

from bisect import bisect_right

import numpy as np

from batchlab.generate.calendar import HALF_HOUR, MONTHS, SLOTS, WEEKDAYS, Slots
from batchlab.generate.cycle import Shares, weights
from batchlab.random_streams import Floats, stream
from batchlab.workload.calendar_time import CalendarTime

__all__ = ["arrivals", "usual_period"]

_YEAR = 365.25 * 86_400.0
# A progress ratio of few jobs says little: it counts as if so many more had come as expected.
_STEADY = 20.0
# However far behind or ahead, the walk is never more than so many times slower or faster.
_STRONGEST = 4.0
# So many years count as one, that the months can have their shares.
_ALMOST_ONE = 0.5
_DAY = 86_400.0
_MONTHS_SEEN = 365 * _DAY


def usual_period(times: Floats, jobs: int) -> float:
    """Say over how long to spread jobs, so that they come about as often as in a log.

    Parameters
    ----------
    times
        The log's submissions, seconds, in order.
    jobs
        The number of jobs to make.

    Returns
    -------
    float
        Seconds. Of a log of a year or more, whole years (half a year and more count as one), since the
        months could not have their shares in a part of a year.
    """
    period = float(times[-1] - times[0])
    needed = period * jobs / len(times)
    years = needed / _YEAR
    if period < _MONTHS_SEEN or years < _ALMOST_ONE:
        return max(needed, 1.0)
    return max(round(years), 1) * _YEAR


def arrivals(times: Floats, jobs: int, *, period: float, clock: CalendarTime, seed: int) -> Floats:
    """Make submission times.

    Parameters
    ----------
    times
        The log's submissions, in seconds since 1970, in order.
    jobs
        How many to make.
    period
        Over how long to spread them, seconds.
    clock
        By which people go where the machine stands.
    seed
        The same seed gives the same times.

    Returns
    -------
    array
        Whole seconds since 1970, in order; the first is the log's first.
    """
    begin, span = float(times[0]), float(times[-1] - times[0])
    points = _points(times, jobs, clock, seed)
    if span < _DAY:
        # Such a log has no daily cycle to follow.
        return np.floor(begin + points * (period / jobs))
    shares = Shares.of(times, clock)
    if period < _MONTHS_SEEN:
        shares = shares.without_months()
    # Jobs that come late are still given a half hour.
    slots = Slots.between(begin, begin + 2 * period + _DAY, clock)
    inside = int(period // HALF_HOUR) + 1
    wanted = weights(Slots(slots.first, *(places[:inside] for places in slots[1:])), shares)
    expected = np.concatenate([wanted, np.resize(wanted, len(slots.slot) - inside)]) * jobs
    reached = _walk(points.tolist(), slots, expected, shares)
    edges = slots.edges[: len(reached)]
    edges[0] = begin
    return np.floor(np.maximum(np.interp(points, reached, edges), begin))


def _points(times: Floats, jobs: int, clock: CalendarTime, seed: int) -> Floats:
    """Draw the jobs' places on the scale of weights, where the log's own jobs are 1 apart on average.

    A log's interval between submissions is worth the weight of the half hours it lasted: an hour at night
    less than one at noon. Drawn anew in any order, none is longer than the log's longest.
    """
    intervals = _intervals(times, clock)
    drawn = intervals[stream(seed, "arrivals").integers(0, len(intervals), jobs)]
    drawn[0] = 0.0
    points = np.cumsum(drawn)
    # The last job is to fall where the period ends, whatever was drawn.
    return np.asarray(points * (jobs / points[-1]) if points[-1] > 0 else np.arange(jobs), dtype=np.float64)


def _intervals(times: Floats, clock: CalendarTime) -> Floats:
    """Give the log's intervals on the scale of weights."""
    if times[-1] - times[0] < _DAY:
        return np.diff(times)
    slots = Slots.between(float(times[0]), float(times[-1]), clock)
    scale = np.concatenate([[0.0], np.cumsum(weights(slots, Shares.of(times, clock)))])
    return np.diff(np.interp(times, slots.edges, scale))


def _walk(points: list[float], slots: Slots, expected: Floats, shares: Shares) -> list[float]:
    """Walk through the half hours, and give the points that are reached at the edges between them.

    Each half hour is worth the jobs that are expected in it, divided by the progress: the product, over the
    half hour of the day, the weekday and the month, of jobs made so far over jobs expected so far. So an
    hour, day or month that is ahead is slowed down. The cost is that of the half hours, not of the jobs.
    """
    reached, done, total = [0.0], 0, 0.0
    last = points[-1]
    watched = [
        (places.tolist(), [_STEADY] * size, [_STEADY] * size)
        for places, size, share in zip(slots[1:], (SLOTS, WEEKDAYS, MONTHS), shares, strict=True)
        if share is not None
    ]
    for index, usual in enumerate(expected.tolist()):
        progress = 1.0
        for places, made, due in watched:
            progress *= made[places[index]] / due[places[index]]
        total += usual / min(max(progress, 1 / _STRONGEST), _STRONGEST)
        before, done = done, bisect_right(points, total, done)
        reached.append(total)
        for places, made, due in watched:
            made[places[index]] += done - before
            due[places[index]] += usual
        if total >= last:
            break
    return reached
