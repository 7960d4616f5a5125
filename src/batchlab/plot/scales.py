"""Axes of durations and of counts, with readable ticks: ``30 min``, ``6 h``, ``10 d``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib import ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = [
    "DurationLocator",
    "EvenLocator",
    "SpacedLocator",
    "duration_axis",
    "log1p_axis",
    "log1p_ticks",
    "log_axis",
    "next_tick",
    "nice_step",
    "room_for_labels",
    "short_duration",
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
    if high <= 10 * low:
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
        return [[*(tick for tick in decades if tick < 1), *_DURATION_DECADES[1:]]]
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
