"""Submit times with the calendar of a log: rates of its half hours, corrected as in AccaSim's generator."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.workload.calendar_time import CalendarTime

HALF_HOUR = 1800
SLOTS, WEEKDAYS, MONTHS = 48, 7, 12
_DAY = 86_400
_EPOCH = 3  # 1970-01-01 was a Thursday, and Monday is 0


class Slots(NamedTuple):
    """Consecutive half hours.

    Parameters
    ----------
    first
        The number of the first half hour since 1970.
    slot, weekday, month
        For each half hour: its index in the day (0 to 47), weekday (0 is Monday) and month (0 is January).
    """

    first: int
    slot: Integers
    weekday: Integers
    month: Integers

    @classmethod
    def between(cls, begin: float, end: float, clock: CalendarTime) -> "Slots":
        """Return the half hours that cover the time from ``begin`` to ``end``, seconds since 1970."""
        first, last = int(begin // HALF_HOUR), int(end // HALF_HOUR)
        instants = np.arange(first, last + 1, dtype=np.float64) * HALF_HOUR
        return cls(first, *places(clock.read(instants)))

    @property
    def edges(self) -> Floats:
        """The bounds of the half hours, seconds since 1970: one more than half hours."""
        return (self.first + np.arange(len(self.slot) + 1, dtype=np.float64)) * HALF_HOUR


def places(seconds: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the half hour of the day, the weekday and the month of local times.

    Parameters
    ----------
    seconds
        As returned by `CalendarTime.read`.

    Returns
    -------
    tuple
        Three arrays of indices from 0; weekdays from Monday.
    """
    months = seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    return seconds % _DAY // HALF_HOUR, (seconds // _DAY + _EPOCH) % WEEKDAYS, months % MONTHS


_SHAPE = (SLOTS, WEEKDAYS, MONTHS)
_ROUNDS = 50
_WEEK, _COMMON_YEAR = 7 * 86_400.0, 365 * 86_400.0
# Half a job is added to each count, so that no half hour is impossible.
_PRIOR = 0.5


class Shares(NamedTuple):
    """The fractions of jobs for each half hour of the day, weekday and month; each array sums to 1.

    Weekdays and months are None if the log covers less than a week, or less than a year.
    """

    slot: Floats
    weekday: Floats | None
    month: Floats | None

    @classmethod
    def of(cls, times: Floats, clock: CalendarTime) -> "Shares":
        """Compute the shares of a log from its submit times in seconds since 1970."""
        period = times[-1] - times[0]
        slot, weekday, month = places(clock.read(times))
        return cls(
            _shares(slot, SLOTS),
            _shares(weekday, WEEKDAYS) if period >= _WEEK else None,
            _shares(month, MONTHS) if period >= _COMMON_YEAR else None,
        )

    def without_months(self) -> "Shares":
        """Return the shares of half hours and weekdays only."""
        return self._replace(month=None)


def weights(slots: Slots, shares: Shares) -> Floats:
    """Return weights of half hours, such that half hours of the day, weekdays and months have their shares.

    The weight of a half hour is the product of factors for its time of day, its weekday and its month. The
    factors are computed by iterative proportional fitting (W. E. Deming and F. F. Stephan, Ann. Math.
    Statist. 11(4), 1940), so that the sums are exact on the given half hours, which may have more Mondays
    than Sundays.

    Parameters
    ----------
    slots
        The half hours.
    shares
        The shares. Those of times that do not occur in the half hours are dropped.

    Returns
    -------
    array
        One weight per half hour; they sum to 1.
    """
    cells = np.ravel_multi_index((slots.slot, slots.weekday, slots.month), _SHAPE)
    count = np.bincount(cells, minlength=SLOTS * WEEKDAYS * MONTHS).reshape(_SHAPE).astype(np.float64)
    fitted = _fit(count, [(axis, share) for axis, share in enumerate(shares) if share is not None])
    each = np.divide(fitted, count, out=np.zeros(_SHAPE), where=count > 0).ravel()[cells]
    return np.asarray(each / each.sum(), dtype=np.float64)


def _fit(cells: Floats, wanted: Sequence[tuple[int, Floats]]) -> Floats:
    """Scale the cells along each axis in turn until the sums along all axes have the target values."""
    for _ in range(_ROUNDS):
        for axis, share in wanted:
            others = tuple(other for other in range(len(_SHAPE)) if other != axis)
            sums = cells.sum(axis=others, keepdims=True)
            shape = [-1 if other == axis else 1 for other in range(len(_SHAPE))]
            cells = cells * np.divide(share.reshape(shape), sums, out=np.zeros(sums.shape), where=sums > 0)
    return cells


def _shares(place: np.ndarray, places_: int) -> Floats:
    counts = np.bincount(place, minlength=places_) + _PRIOR
    return np.asarray(counts / counts.sum(), dtype=np.float64)


_YEAR = 365.25 * 86_400.0
# Regularisation of progress ratios with few jobs: both counts are increased by this number.
_STEADY = 20.0
# Bound on the factor by which the walk is slowed down or sped up.
_STRONGEST = 4.0
# From this fraction of a year on, the period is a whole year, so that months can have their shares.
_ALMOST_ONE = 0.5
_SECONDS_OF_DAY = 86_400.0
_MONTHS_SEEN = 365 * _SECONDS_OF_DAY


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
    if span < _SECONDS_OF_DAY:
        # Such a log has no daily cycle.
        return np.floor(begin + points * (period / jobs))
    shares = Shares.of(times, clock)
    if period < _MONTHS_SEEN:
        shares = shares.without_months()
    # Extend the half hours beyond the period for jobs that come late.
    slots = Slots.between(begin, begin + 2 * period + _SECONDS_OF_DAY, clock)
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
    if times[-1] - times[0] < _SECONDS_OF_DAY:
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
