"""Axes: durations, dates, logarithms and shares, with ticks that fit, and how values are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib import ticker
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from batchlab.plot.canvas import INK
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = [
    "DurationLocator",
    "EvenLocator",
    "Values",
    "clock_of",
    "duration_axis",
    "instant",
    "log1p_axis",
    "log_axis",
    "next_tick",
    "nice_step",
    "percent",
    "plain",
    "short_duration",
    "time_axis",
]


_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_SMALL = (("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)),
)
_DURATION_DECADES = (
    *(0, 1, 10, _MINUTE, 10 * _MINUTE, _HOUR, 6 * _HOUR),
    *(_DAY, 7 * _DAY, 30 * _DAY, 100 * _DAY, 1000 * _DAY, 10_000 * _DAY),
)
_MOST_TICKS = 8
_NEAR = 0.12  # of the axis
# "1 d 12 h" and a space, in points.
_LABEL = 52


def short_duration(seconds: float) -> str:
    """Format a duration for a tick: its one or two greatest units, no smaller ones.

    Examples
    --------
    >>> short_duration(5400), short_duration(864000), short_duration(0.00002)
    ('1 h 30 min', '10 d', '20 µs')
    """
    if not math.isfinite(seconds):
        return "–"
    sign, length = ("−" if seconds < 0 else ""), abs(seconds)
    if length == 0:
        return "0"
    if length < 1:
        name, factor = next((unit for unit in _SMALL if length * unit[1] >= 1), _SMALL[-1])
        return f"{sign}{length * factor:.3g} {name}"
    if length < _MINUTE:
        return f"{sign}{length:.3g} s"
    # Rounded to its second unit, a duration may reach the next: 59 min 59.9 s is 1 h.
    second = _UNITS[_first_unit(length) + 1][1]
    rounded = round(length / second) * second
    first = _first_unit(rounded)
    (name, size), (smaller, fraction) = _UNITS[first : first + 2]
    whole, rest = divmod(rounded, size)
    text = f"{sign}{whole:,} {name}"
    return f"{text} {rest // fraction} {smaller}" if rest else text


def _first_unit(length: float) -> int:
    return next(index for index, (_, size) in enumerate(_UNITS) if length >= size)


def nice_step(span: float, most: int) -> float:
    """Return the shortest round step, in seconds, that covers a span in at most a given number of steps."""
    least = span / most
    if least <= 1:
        power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
        return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
    return next((step for step in _STEPS if step >= least), float(_STEPS[-1] * math.ceil(least / _STEPS[-1])))


class DurationLocator(ticker.Locator):
    """Ticks at round durations, on a linear axis in seconds."""

    def __call__(self) -> Sequence[float]:
        """Return the ticks for the current limits of the axis."""
        low, high = self.axis.get_view_interval() if self.axis else (0.0, 1.0)
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the ticks between two durations in seconds."""
        low, high = sorted((vmin, vmax))
        if not math.isfinite(high - low) or high == low:
            return [low]
        step = nice_step(high - low, room_for_labels(self.axis, _LABEL))
        return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def room_for_labels(axis: object, width: float, most: int = _MOST_TICKS) -> int:
    """Compute for how many labels of a width in points an axis has room, from 2 to `most`."""
    axes = getattr(axis, "axes", None)
    if axes is None:
        return most
    # Labels of y axes need less height than width.
    along = axes.bbox.width if axis is axes.xaxis else 2 * axes.bbox.height
    return max(2, min(most, int(72 * along / axes.get_figure(root=True).dpi / width)))


def duration_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make a linear axis an axis of seconds, with round ticks that have units."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(DurationLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short_duration(value)))


class SpacedLocator(ticker.Locator):
    """Ticks chosen from given ones so that their labels do not touch.

    Parameters
    ----------
    ranked
        The possible ticks, by rank: the first rank is placed first.
    write
        Returns the label of a tick.
    """

    def __init__(self, ranked: Sequence[Sequence[float]], write: Callable[[float], str]) -> None:
        self.ranked, self.write = ranked, write

    def __call__(self) -> Sequence[float]:
        """Return the ticks for the current limits of the axis."""
        low, high = self.axis.get_view_interval() if self.axis else (-math.inf, math.inf)
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the ticks between two values."""
        low, high = sorted((vmin, vmax))
        return sorted(self._apart([tick for rank in self.ranked for tick in rank if low <= tick <= high]))

    def _apart(self, ticks: Sequence[float]) -> list[float]:
        """Remove the ticks whose labels would touch that of an earlier one."""
        placed: list[tuple[float, float, float]] = []
        for tick in ticks:
            place, half = self._points(tick), self._half(tick)
            if all(abs(place - other) > half + room for _, other, room in placed):
                placed.append((tick, place, half))
        return [tick for tick, *_ in placed]

    def _points(self, value: float) -> float:
        """Return the position of a value along the axis, in points."""
        axes = getattr(self.axis, "axes", None)
        if axes is None:
            return math.inf if value == math.inf else value * _LABEL
        across = self.axis is axes.xaxis
        point = axes.transData.transform(
            (value, axes.get_ylim()[0]) if across else (axes.get_xlim()[0], value)
        )
        return float(point[0 if across else 1]) * 72 / float(axes.get_figure(root=True).dpi)

    def _half(self, value: float) -> float:
        """Return half the size of a label along the axis, with some space, in points."""
        axes = getattr(self.axis, "axes", None)
        along_x = axes is None or self.axis is axes.xaxis
        longest = max(map(len, self.write(value).split("\n")))
        return 3.0 + 2.65 * longest if along_x else 8.0


class EvenLocator(SpacedLocator):
    """Ticks at whole numbers from 0: each one, or each second, third and so on, so that no labels touch.

    Parameters
    ----------
    count
        The number of whole numbers.
    write
        Returns the label of a tick.
    """

    def __init__(self, count: int, write: Callable[[float], str]) -> None:
        super().__init__([], write)
        self.count = count

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the ticks between two values."""
        low, high = sorted((vmin, vmax))
        every = [float(tick) for tick in range(self.count) if low <= tick <= high]
        thinned = (every[::step] for step in range(1, max(len(every), 2)))
        return next((ticks for ticks in thinned if self._apart(ticks) == ticks), every[:1])


def log_axis(ax: Axes, which: Literal["x", "y"], *, durations: bool = False) -> None:
    """Make an axis logarithmic; its ticks are plain numbers, or durations."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = sorted(axis.get_view_interval())
    write = short_duration if durations else _plain
    usual = durations and sum(low <= step <= high for step in _STEPS) > 1
    if high <= 10 * low and not usual:
        # Within one power of ten, ticks at its multiples are too few, or too close to each other.
        axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
    else:
        ranked = _ranked(low, high, durations=durations)
        _reach(ax, which, ranked)
        axis.set_major_locator(SpacedLocator(ranked, write))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_minor_locator(ticker.NullLocator())


def _plain(value: float) -> str:
    return f"{value:,.10g}"


def _ranked(low: float, high: float, *, durations: bool) -> list[list[float]]:
    """Return the possible ticks of an axis: powers of ten before others, or the usual durations."""
    least, most = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    decades = [10.0**power for power in range(least, most + 1)]
    if durations and high > _MINUTE:
        first = [*(tick for tick in decades if tick < 1), *map(float, _DURATION_DECADES[1:])]
        return [first, [*map(float, _STEPS)]] if high <= 100 * low else [first]
    few = (2.0, 5.0) if high <= 300 * low else (3.0,)
    return [decades, [factor * decade for decade in decades for factor in few]]


def _reach(ax: Axes, which: Literal["x", "y"], ranked: Sequence[Sequence[float]]) -> None:
    """Extend an axis to the next tick if that is near, so that the ticks include the data."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = sorted(axis.get_view_interval())
    ticks = sorted(tick for rank in ranked for tick in rank)
    place = axis.get_transform().transform
    near = _NEAR * float(place(high) - place(low))
    above = next((tick for tick in ticks if tick >= high), high)
    if place(above) - place(high) <= near:
        # Slightly more, so that rounding does not lose the tick.
        (ax.set_xlim if which == "x" else ax.set_ylim)(low, above * (1 + 1e-9))


def log1p_axis(ax: Axes, which: Literal["x", "y"], greatest: float, *, durations: bool = False) -> None:
    """Make an axis logarithmic above 1 that still includes 0: the position of x is log(1 + x).

    Parameters
    ----------
    ax, which
        The axes, and which of the two axes.
    greatest
        The greatest value shown.
    durations
        True if values are seconds, with ticks at durations.
    """
    if which == "x":
        ax.set_xscale("function", functions=(_log1p, np.expm1))
    else:
        ax.set_yscale("function", functions=(_log1p, np.expm1))
    axis = ax.xaxis if which == "x" else ax.yaxis
    write = short_duration if durations else _whole
    axis.set_major_locator(SpacedLocator(log1p_ticks(greatest, durations=durations), write))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_locator(ticker.NullLocator())


def log1p_ticks(greatest: float, *, durations: bool = False) -> list[list[float]]:
    """Return the ticks of a scale from 0 to at most ten times the greatest value, the decades first."""
    if durations:
        few = [2.0, 5.0, 20.0, 30.0] if greatest <= _MINUTE else []
        return [[tick for tick in _DURATION_DECADES if tick <= 10 * max(greatest, 1)], few]
    decades = [0.0, *(10.0**power for power in range(16) if 10.0**power <= 10 * max(greatest, 1))]
    return [decades, [3 * decade for decade in decades[1:]]]


def next_tick(greatest: float, *, durations: bool = False) -> float:
    """Return the end of a scale that begins at 0: the next tick if it is near, else the greatest value."""
    ticks = (tick for rank in log1p_ticks(greatest, durations=durations) for tick in rank)
    after = min((tick for tick in ticks if tick >= greatest), default=greatest)
    near = math.log1p(after) - math.log1p(greatest) <= _NEAR * math.log1p(after)
    return after * (1 + 1e-9) if near else greatest


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _log1p(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # Margins extend below 0, although there are no values.
    return np.log1p(np.maximum(values, -0.9))


_DATE_LABEL = 44  # points: "12 Mar" and a space
_MONTH, _YEAR = 30.4 * _DAY, 365.25 * _DAY
_SIXTIETHS = (1, 2, 5, 10, 15, 30)
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
    """Ticks where seconds, minutes, hours, days, months or years begin."""

    def __init__(self, clock: CalendarTime) -> None:
        self.clock = clock

    def __call__(self) -> Sequence[float]:
        low, high = self.axis.get_view_interval() if self.axis else (0.0, 1.0)
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        low, high = sorted((vmin, vmax))
        try:
            dates = _dates(
                self.clock.local(low), self.clock.local(high), room_for_labels(self.axis, _DATE_LABEL)
            )
        except (OverflowError, ValueError):
            return [low]
        return [time for time in map(self.clock.time, dates) if low <= time <= high]


def _dates(first: datetime, last: datetime, most: int) -> Iterator[datetime]:
    """Return round dates, at most a given number of them between two."""
    span = (last - first).total_seconds()
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    # Labels with seconds are wider.
    seconds = _step(span, 1, _SIXTIETHS, max(2 * most // 3, 1))
    if seconds is None and (minutes := _step(span, _MINUTE, _SIXTIETHS, most)) is not None:
        seconds = minutes * _MINUTE
    if seconds is not None:
        for number in range(0, int(span) + _HOUR + seconds + 1, seconds):
            yield midnight.replace(hour=first.hour) + timedelta(seconds=number)
    elif (hours := _step(span, _HOUR, _HOURS, most)) is not None:
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
        if changes and any(date.hour or date.minute or date.second for date in dates):
            # The year is written once, at a day that has room on its right, or at the last.
            after = [*changes[1:], len(dates) + 1]
            at = next(
                (one for one, other in zip(changes, after, strict=True) if other > one + 1), changes[-1]
            )
            texts[at] += f" {dates[at]:%Y}"
        return texts


def _texts(dates: Sequence[datetime]) -> tuple[list[str], list[str]]:
    """Write each date in two parts: one that differs between ticks, and one that several have in common."""
    if any(date.hour or date.minute or date.second for date in dates):
        form = "%H:%M:%S" if any(date.second for date in dates) else "%H:%M"
        return [date.strftime(form) for date in dates], [f"{date.day} {date:%b}" for date in dates]
    if any(date.day != 1 for date in dates):
        return [f"{date.day} {date:%b}" for date in dates], [f"{date:%Y}" for date in dates]
    if any(date.month != 1 for date in dates):
        return [f"{date:%b}" for date in dates], [f"{date:%Y}" for date in dates]
    return [f"{date:%Y}" for date in dates], [""] * len(dates)


_LEAST = 0.1  # of logarithmic axes
_APART = 0.3  # of a lane, ticks
_FAR = 1.5


def plain(value: float) -> str:
    """Format a number for a tick."""
    return f"{value:,.10g}"


def percent(share: float) -> str:
    """Format a share for a tick, in per cent."""
    return f"{100 * share:,.3g} %" if abs(share) < 1 else f"{100 * share:,.0f} %"


@dataclass(frozen=True)
class Values:
    """The values of courses.

    Parameters
    ----------
    label
        The label of the axis, with the unit unless ticks have it.
    scale
        ``"linear"``, ``"log1p"`` (logarithmic above 1, from 0), or ``"log"`` (from 0.1; smaller values are
        drawn there).
    write
        Returns the text of a tick.
    top
        The greatest value of the axis [default: the greatest of the courses].
    mark
        A value that is marked by a line.
    """

    label: str
    scale: Literal["linear", "log1p", "log"] = "linear"
    write: Callable[[float], str] = plain
    top: float | None = None
    mark: float | None = None

    def apply(self, ax: Axes) -> None:
        """Apply this axis of values to axes."""
        ax.set_ylabel(self.label)
        # Courses that hardly change have hardly a margin by themselves.
        greatest = max(ax.get_ylim()[1], 1.03 * float(ax.dataLim.y1)) if ax.has_data() else ax.get_ylim()[1]
        high = greatest if self.top is None else 1.02 * self.top
        if self.mark is not None:
            ax.axhline(self.mark, color=INK, linewidth=0.8, zorder=1.5)
            high = max(high, 1.05 * self.mark)
        if self.scale == "log":
            ax.set_yscale("log")
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_ylim(_LEAST, max(high, 10 * _LEAST))
        elif self.scale == "log1p":
            log1p_axis(ax, "y", high)
            ax.set_ylim(0, max(high, 1e-9))
        else:
            ax.set_ylim(0, max(high, 1e-9))
        if self.scale != "log1p" or self.write is not plain:
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: self.write(value)))

    def reach(self, greatest: float) -> tuple[float, list[float]]:
        """Return the end of a lane's scale, and its ticks up to that end."""
        greatest = max(greatest, self.mark or 0.0, 1e-9)
        if self.scale == "linear":
            ticks = MaxNLocator(2, steps=[1, 2, 5, 10]).tick_values(0, self.top or greatest)
            # A scale ends at its data if the next tick is far beyond.
            end = self.top or (max(ticks) if max(ticks) <= _FAR * greatest else greatest)
            return float(end), [float(tick) for tick in ticks if 0 <= tick <= end]
        if self.scale == "log":
            decades = [_LEAST * 10.0**power for power in range(12)]
        else:
            decades = log1p_ticks(greatest)[0]
        end = next((tick for tick in decades if tick >= greatest), decades[-1])
        return end, self._apart([tick for tick in decades if tick <= end], end)

    def place(self, values: Floats, end: float) -> Floats:
        """Return the positions of values on a scale with this end, from 0 to 1."""
        if self.scale == "linear":
            return np.clip(values / end, 0, 1)
        if self.scale == "log1p":
            return np.asarray(np.clip(np.log1p(values) / np.log1p(end), 0, 1))
        above = np.log(np.maximum(values, _LEAST) / _LEAST) / np.log(end / _LEAST)
        return np.asarray(np.clip(above, 0, 1))

    def _apart(self, ticks: list[float], end: float) -> list[float]:
        """Keep the first and the last of ticks, and those in between that have room."""
        places = self.place(np.array(ticks), end)
        kept = [0, len(ticks) - 1] if len(ticks) > 1 else [0]
        order = ([ticks.index(self.mark)] if self.mark in ticks else []) + [*range(len(ticks))]
        for number in order:
            if all(abs(places[number] - places[other]) >= _APART for other in kept):
                kept.append(number)
        return [ticks[number] for number in sorted(kept)]
