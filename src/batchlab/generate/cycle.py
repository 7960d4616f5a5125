"""Slot weights: the rates of submissions at each half hour of the day, weekday and month of a log."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from batchlab.core.random_streams import Floats
from batchlab.generate.calendar import MONTHS, SLOTS, WEEKDAYS, Slots, places
from batchlab.workload.calendar_time import CalendarTime

__all__ = ["Shares", "weights"]

_SHAPE = (SLOTS, WEEKDAYS, MONTHS)
_ROUNDS = 50
_WEEK, _YEAR = 7 * 86_400.0, 365 * 86_400.0
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
            _shares(month, MONTHS) if period >= _YEAR else None,
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
