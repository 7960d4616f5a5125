"""Calendar time of simulated times: the date of time 0 and the time zone of the machine."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from batchlab.core.units import format_duration

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from batchlab.workload.header import Header


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY = 86_400.0
# How far ahead clock changes are searched: a simulation may last longer than its workload.
_AHEAD = 20 * 366 * _DAY


@dataclass(frozen=True)
class CalendarTime:
    """The calendar of a run.

    Parameters
    ----------
    origin
        The instant of simulated time 0, seconds since 1970 UTC.
    zone
        The time zone of the machine.
    is_known
        Whether the system or the log defines the origin. If not, time 0 is midnight UTC.
    """

    origin: float = 0.0
    zone: dt.tzinfo = dt.UTC
    is_known: bool = True

    @classmethod
    def of(cls, header: Header, start_time: float = 0.0) -> Self:
        """Create the calendar from the header of a log and the start time of a system.

        Parameters
        ----------
        header
            ``UnixStartTime`` is the origin. ``TimeZoneString``, or ``TimeZone`` (seconds ahead of UTC) if
            that is missing or unknown, is the time zone; UTC if both are missing.
        start_time
            ``System.start_time``, seconds since 1970 UTC: the origin if it is not 0.
        """
        start = start_time or header.unix_start_time
        return cls(float(start or 0.0), _zone(header), is_known=start is not None)

    @property
    def beginning(self) -> dt.datetime | None:
        """The date of time 0; None if it is unknown, or beyond the calendar of `datetime`."""
        return self.date(0.0)

    def date(self, time: float) -> dt.datetime | None:
        """Return the date of a simulated time (s); None if it is unknown, or beyond the calendar."""
        if not self.is_known:
            return None
        try:
            return self.local(time)
        except (ValueError, OverflowError):
            return None

    def written(self, time: float, *, seconds: bool = True) -> str:
        """Return a simulated time (s) as text: its date, or the duration since time 0 if that is unknown."""
        date = self.date(time)
        if date is None:
            return format_duration(time)
        return f"{date:%Y-%m-%d %H:%M:%S}" if seconds else f"{date:%Y-%m-%d %H:%M}"

    def local(self, time: float) -> dt.datetime:
        """Return the date of a simulated time (s), in the time zone of the machine.

        Raises
        ------
        OverflowError
            If the date is beyond the calendar of `datetime`.
        """
        return (_EPOCH + dt.timedelta(seconds=self.origin + time)).astimezone(self.zone)

    def time(self, date: dt.datetime) -> float:
        """Return the simulated time of a date, seconds."""
        return date.timestamp() - self.origin

    def read(self, instants: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return what the local clock shows at instants.

        Parameters
        ----------
        instants
            float64, seconds since 1970 UTC.

        Returns
        -------
        numpy.ndarray
            int64, of the same shape: whole seconds, as if since 1970.
        """
        import polars as pl  # noqa: PLC0415  # plain runs do without

        seconds = pl.Series(instants).floor().cast(pl.Int64)
        if not isinstance(self.zone, zoneinfo.ZoneInfo):
            return (seconds + round(self._ahead_of_utc(0.0))).to_numpy()
        shown = pl.from_epoch(seconds, time_unit="s").dt.replace_time_zone("UTC")
        return shown.dt.convert_time_zone(self.zone.key).dt.replace_time_zone(None).dt.epoch("s").to_numpy()

    def local_clock(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Return by how much the local clock is ahead of simulated time, modulo one day.

        Parameters
        ----------
        begin, end
            The first and the last submission, seconds. Changes to and from summer time are listed from
            `begin` until 20 years after `end`; the last value holds after that.

        Returns
        -------
        list
            Pairs of a simulated time and seconds: time + seconds, modulo one day, is the time of day from
            that time on. The first holds before it too.
        """
        shifts = [(begin, self._ahead_of_utc(begin))]
        day = begin
        while day < end + _AHEAD:
            if (ahead := self._ahead_of_utc(day + _DAY)) != shifts[-1][1]:
                shifts.append((self._change(day, day + _DAY), ahead))
            day += _DAY
        return [(time, (self.origin % _DAY) + ahead) for time, ahead in shifts]

    def _change(self, before: float, after: float) -> float:
        """Find when the clock changes between two times, to a second."""
        ahead = self._ahead_of_utc(before)
        # Clocks change at whole seconds since 1970.
        low, high = int(self.origin + before), int(self.origin + after) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._ahead_of_utc(middle - self.origin) == ahead:
                low = middle
            else:
                high = middle
        return high - self.origin

    def _ahead_of_utc(self, time: float) -> float:
        try:
            shift = self.local(time).utcoffset()
        except (ValueError, OverflowError):
            return 0.0
        return 0.0 if shift is None else shift.total_seconds()


def _zone(header: Header) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(header.time_zone_string or "")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        # Old logs use obsolete zone names, and some platforms have no time zone database.
        seconds = header.time_zone or 0
    return dt.timezone(dt.timedelta(seconds=seconds)) if 0 < abs(seconds) < _DAY else dt.UTC
