"""Submit times with the slot weights of a log, corrected during generation as in AccaSim's generator."""

from bisect import bisect_right

import numpy as np

from batchlab.core.random_streams import Floats, stream
from batchlab.generate.calendar import HALF_HOUR, MONTHS, SLOTS, WEEKDAYS, Slots
from batchlab.generate.cycle import Shares, weights
from batchlab.workload.calendar_time import CalendarTime

__all__ = ["arrivals", "usual_period"]

_YEAR = 365.25 * 86_400.0
# Regularisation of progress ratios with few jobs: both counts are increased by this number.
_STEADY = 20.0
# Bound on the factor by which the walk is slowed down or sped up.
_STRONGEST = 4.0
# From this fraction of a year on, the period is a whole year, so that months can have their shares.
_ALMOST_ONE = 0.5
_DAY = 86_400.0
_MONTHS_SEEN = 365 * _DAY


def usual_period(times: Floats, jobs: int) -> float:
    """Return the period over which jobs have about the same rate as in a log.

    Parameters
    ----------
    times
        The submit times in the log, seconds, in order.
    jobs
        The number of jobs to generate.

    Returns
    -------
    float
        Seconds. For a log of a year or more, whole years (half a year or more is rounded up to one), since
        months cannot have their shares in a part of a year.
    """
    period = float(times[-1] - times[0])
    needed = period * jobs / len(times)
    years = needed / _YEAR
    if period < _MONTHS_SEEN or years < _ALMOST_ONE:
        return max(needed, 1.0)
    return max(round(years), 1) * _YEAR


def arrivals(times: Floats, jobs: int, *, period: float, clock: CalendarTime, seed: int) -> Floats:
    """Generate submit times.

    Parameters
    ----------
    times
        The submit times in the log, seconds since 1970, in order.
    jobs
        The number of jobs to generate.
    period
        The period of the generated jobs, seconds.
    clock
        The local clock of the machine.
    seed
        The same seed generates the same times.

    Returns
    -------
    array
        Whole seconds since 1970, in order; the first is that of the log.
    """
    begin, span = float(times[0]), float(times[-1] - times[0])
    points = _points(times, jobs, clock, seed)
    if span < _DAY:
        # Such a log has no daily cycle.
        return np.floor(begin + points * (period / jobs))
    shares = Shares.of(times, clock)
    if period < _MONTHS_SEEN:
        shares = shares.without_months()
    # Extend the half hours beyond the period for jobs that come late.
    slots = Slots.between(begin, begin + 2 * period + _DAY, clock)
    inside = int(period // HALF_HOUR) + 1
    wanted = weights(Slots(slots.first, *(places[:inside] for places in slots[1:])), shares)
    expected = np.concatenate([wanted, np.resize(wanted, len(slots.slot) - inside)]) * jobs
    reached = _walk(points.tolist(), slots, expected, shares)
    edges = slots.edges[: len(reached)]
    edges[0] = begin
    return np.floor(np.maximum(np.interp(points, reached, edges), begin))


def _points(times: Floats, jobs: int, clock: CalendarTime, seed: int) -> Floats:
    """Draw the positions of jobs on the scale of weights, on which the log's jobs have a mean distance of 1.

    An interval between submissions in the log is measured by the weights of its half hours: an hour at night
    counts less than an hour at noon. Resampled intervals are never longer than the log's longest.
    """
    intervals = _intervals(times, clock)
    drawn = intervals[stream(seed, "arrivals").integers(0, len(intervals), jobs)]
    drawn[0] = 0.0
    points = np.cumsum(drawn)
    # The last job is at the end of the period, whatever was drawn.
    return np.asarray(points * (jobs / points[-1]) if points[-1] > 0 else np.arange(jobs), dtype=np.float64)


def _intervals(times: Floats, clock: CalendarTime) -> Floats:
    """Return the log's intervals on the scale of weights."""
    if times[-1] - times[0] < _DAY:
        return np.diff(times)
    slots = Slots.between(float(times[0]), float(times[-1]), clock)
    scale = np.concatenate([[0.0], np.cumsum(weights(slots, Shares.of(times, clock)))])
    return np.diff(np.interp(times, slots.edges, scale))


def _walk(points: list[float], slots: Slots, expected: Floats, shares: Shares) -> list[float]:
    """Return the points that are reached at the edges between half hours.

    Each half hour advances by its expected number of jobs divided by the progress: the product, over the half
    hour of the day, the weekday and the month, of the ratio of generated to expected jobs so far. So an hour,
    day or month with too many jobs is slowed down. The cost is linear in half hours, not in jobs.
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
