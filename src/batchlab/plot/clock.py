"""Axes of time: dates on the machine's own clock if the log has an origin, else durations."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from matplotlib import ticker

from batchlab.plot.scales import duration_axis, room_for_labels, short_duration
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["clock_of", "instant", "time_axis"]

_LABEL = 44  # points: "12 Mar" and a space
_HOUR, _DAY, _MONTH, _YEAR = 3600.0, 86_400.0, 30.4 * 86_400.0, 365.25 * 86_400.0
_HOURS, _DAYS, _MONTHS, _YEARS = (1, 2, 3, 6, 12), (1, 2, 7, 14), (1, 2, 3, 6), (1, 2, 5, 10, 20, 50, 100)
_MONTHS_OF_YEAR = 12


def clock_of(results: Iterable[Result]) -> CalendarTime | None:
    """Return the calendar that all results share; None if the date of time 0 is unknown, or they differ."""
    clocks = {CalendarTime.of(result.workload.header, result.system.start_time) for result in results}
    clock = clocks.pop() if len(clocks) == 1 else None
    return clock if clock is not None and clock.is_known else None


def instant(clock: CalendarTime | None, time: float) -> str:
    """Format an instant: as a date, or without a clock as the time since the workload's origin."""
    if clock is None:
        return short_duration(time)
    date = clock.local(time)
    return f"{date.day} {date:%b %Y, %H:%M}"


def time_axis(ax: Axes, clock: CalendarTime | None) -> str:
    """Make the x axis an axis of time, in seconds, and return what it shows, for its label.

    Parameters
    ----------
    ax
        The axes.
    clock
        If given, ticks are dates, else durations since the workload's origin.

    Returns
    -------
    str
        ``"date"`` or ``"simulated time"``.
    """
    if clock is None:
        duration_axis(ax, "x")
        return "simulated time"
    ax.xaxis.set_major_locator(_DateLocator(clock))
    ax.xaxis.set_major_formatter(_DateFormatter(clock))
    return "date"


class _DateLocator(ticker.Locator):
    """Ticks where hours, days, months or years begin."""

    def __init__(self, clock: CalendarTime) -> None:
        self.clock = clock

    def __call__(self) -> Sequence[float]:
        low, high = self.axis.get_view_interval() if self.axis else (0.0, 1.0)
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        low, high = sorted((vmin, vmax))
        try:
            dates = _dates(self.clock.local(low), self.clock.local(high), room_for_labels(self.axis, _LABEL))
        except (OverflowError, ValueError):
            return [low]
        return [time for time in map(self.clock.time, dates) if low <= time <= high]


def _dates(first: datetime, last: datetime, most: int) -> Iterator[datetime]:
    """Return round dates, at most a given number of them between two."""
    span = (last - first).total_seconds()
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    if (hours := _step(span, _HOUR, _HOURS, most)) is not None:
        for number in range(int(span / _HOUR) + 49):
            date = midnight + timedelta(hours=number)
            if number % hours == 0:
                yield date
    elif (days := _step(span, _DAY, _DAYS, most)) is not None:
        # Weeks begin on Mondays.
        begin = midnight - timedelta(days=midnight.weekday() if days >= _DAYS[2] else 0)
        for number in range(0, int(span / _DAY) + 16, days):
            yield begin + timedelta(days=number)
    else:
        months = _step(span, _MONTH, _MONTHS, most)
        step = months or _MONTHS_OF_YEAR * (_step(span, _YEAR, _YEARS, most) or _YEARS[-1])
        begins = first.year * _MONTHS_OF_YEAR + first.month - 1
        for number in range(begins - begins % step, (last.year + 1) * _MONTHS_OF_YEAR, step):
            year, month = divmod(number, _MONTHS_OF_YEAR)
            yield midnight.replace(year=max(year, 1), month=month + 1, day=1)


def _step(span: float, unit: float, steps: Sequence[int], most: int) -> int | None:
    return next((step for step in steps if span / (step * unit) <= most), None)


class _DateFormatter(ticker.Formatter):
    """The shortest text of each date; the rest of the date is on a second line where it changes."""

    def __init__(self, clock: CalendarTime) -> None:
        self.clock = clock

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002  # of matplotlib
        return f"{self.clock.local(x):%Y-%m-%d %H:%M}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        dates = [self.clock.local(value) for value in values]
        fine, coarse = _texts(dates)
        earlier = ["", *coarse]
        changes = [place for place, text in enumerate(coarse) if text != earlier[place]]
        texts = [f"{text}\n{coarse[place]}" if place in changes else text for place, text in enumerate(fine)]
        if changes and any(date.hour or date.minute for date in dates):
            # The year is written once, at a day that has room on its right, or at the last.
            after = [*changes[1:], len(dates) + 1]
            at = next(
                (one for one, other in zip(changes, after, strict=True) if other > one + 1), changes[-1]
            )
            texts[at] += f" {dates[at]:%Y}"
        return texts


def _texts(dates: Sequence[datetime]) -> tuple[list[str], list[str]]:
    """Write each date in two parts: one that differs between ticks, and one that several have in common."""
    if any(date.hour or date.minute for date in dates):
        return [f"{date:%H:%M}" for date in dates], [f"{date.day} {date:%b}" for date in dates]
    if any(date.day != 1 for date in dates):
        return [f"{date.day} {date:%b}" for date in dates], [f"{date:%Y}" for date in dates]
    if any(date.month != 1 for date in dates):
        return [f"{date:%b}" for date in dates], [f"{date:%Y}" for date in dates]
    return [f"{date:%Y}" for date in dates], [""] * len(dates)
