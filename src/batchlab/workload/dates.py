"""The dates of simulated times, where a log or a machine says when its time 0 was."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.workload.header import Header

__all__ = ["Dates"]


class Dates:
    """Gives the dates of simulated times.

    Parameters
    ----------
    header
        The log's: its start time and its time zone.
    start_time
        That of the machine, seconds since 1970 UTC, for logs without one; 0 where it has none either.
    """

    def __init__(self, header: Header, start_time: float) -> None:
        self._header, self._start_time = header, start_time

    @cached_property
    def origin(self) -> dt.datetime | None:
        """When time 0 was, in the log's time zone where it names one; None if unknown."""
        start = self._header.unix_start_time or self._start_time or None
        if start is None:
            return None
        try:
            return dt.datetime.fromtimestamp(float(start), _zone(self._header.time_zone_string))
        except (ValueError, OverflowError, OSError):
            # Out of the calendar.
            return None

    def date(self, time: float) -> dt.datetime | None:
        """Give the date of a simulated time; None if the log does not tell, or it is out of the calendar."""
        if self.origin is None:
            return None
        try:
            # Through UTC: the clocks change meanwhile.
            moment = self.origin.astimezone(dt.UTC) + dt.timedelta(seconds=time)
            return moment.astimezone(self.origin.tzinfo)
        except OverflowError:
            return None


def _zone(name: str | None) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name or "UTC")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        # Not every platform has the data, and not every log a zone that exists.
        return dt.UTC
