"""Half hours of the calendar: half hour of the day, weekday and month in the machine's local time."""

from typing import NamedTuple

import numpy as np

from batchlab.core.random_streams import Floats, Integers
from batchlab.workload.calendar_time import CalendarTime

__all__ = ["HALF_HOUR", "MONTHS", "SLOTS", "WEEKDAYS", "Slots", "places"]

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
