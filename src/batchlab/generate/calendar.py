"""Half hours of the calendar: their half hour of the day, weekday and month, on the machine's own clock."""

from typing import NamedTuple

import numpy as np

from batchlab.random_streams import Floats, Integers
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
        The first one's number, counted from 1970.
    slot, weekday, month
        Of each: the half hour of its day (0 to 47), its weekday (0 is Monday) and month (0 is January).
    """

    first: int
    slot: Integers
    weekday: Integers
    month: Integers

    @classmethod
    def between(cls, begin: float, end: float, clock: CalendarTime) -> "Slots":
        """Give the half hours that cover the time from ``begin`` to ``end``, seconds since 1970."""
        first, last = int(begin // HALF_HOUR), int(end // HALF_HOUR)
        instants = np.arange(first, last + 1, dtype=np.float64) * HALF_HOUR
        return cls(first, *places(clock.read(instants)))

    @property
    def edges(self) -> Floats:
        """The instants between which they lie, seconds since 1970: one more than there are slots."""
        return (self.first + np.arange(len(self.slot) + 1, dtype=np.float64)) * HALF_HOUR


def places(seconds: Integers) -> tuple[Integers, Integers, Integers]:
    """Give the half hour of the day, the weekday and the month of what a clock shows.

    Parameters
    ----------
    seconds
        As `CalendarTime.read` returns them.

    Returns
    -------
    tuple
        Three arrays, counted from 0; weekdays from Monday.
    """
    months = seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    return seconds % _DAY // HALF_HOUR, (seconds // _DAY + _EPOCH) % WEEKDAYS, months % MONTHS
