"""Axes of durations and of counts, with ticks that people read: ``30 min``, ``6 h``, ``10 d``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib import ticker

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = ["DurationLocator", "duration_axis", "log1p_axis", "log_axis", "nice_step", "short_duration"]

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_SMALL = (("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)),
)
_DURATION_DECADES = (0, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000, 86_400_000)
_MOST_TICKS = 8
# "1 d 12 h" and a space, in points.
_LABEL = 52


def short_duration(seconds: float) -> str:
    """Write a duration for a tick: its one or two greatest units, no smaller ones.

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
    """Give the shortest round duration of which at most so many cover a span, in seconds."""
    least = span / most
    if least <= 1:
        power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
        return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
    return next((step for step in _STEPS if step >= least), float(_STEPS[-1] * math.ceil(least / _STEPS[-1])))


class DurationLocator(ticker.Locator):
    """Ticks at round durations, on a linear axis in seconds."""

    def __call__(self) -> Sequence[float]:
        """Give the ticks of the axis as it is now."""
        low, high = self.axis.get_view_interval() if self.axis else (0.0, 1.0)
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Give the ticks between two durations in seconds."""
        low, high = sorted((vmin, vmax))
        if not math.isfinite(high - low) or high == low:
            return [low]
        step = nice_step(high - low, self._room())
        return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]

    def _room(self) -> int:
        """Count the labels for which the axis has room."""
        axes = getattr(self.axis, "axes", None)
        if axes is None:
            return _MOST_TICKS
        along = axes.bbox.width if self.axis is axes.xaxis else 2 * axes.bbox.height
        return max(2, min(_MOST_TICKS, int(72 * along / axes.get_figure(root=True).dpi / _LABEL)))


def duration_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make a linear axis one of seconds, with round ticks that name their units."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(DurationLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short_duration(value)))


def log_axis(ax: Axes, which: Literal["x", "y"], *, durations: bool = False) -> None:
    """Make an axis logarithmic; its ticks are plain numbers, or durations."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(_log_locator(low, high, durations=durations))
    plain = ticker.FuncFormatter(lambda value, _: short_duration(value) if durations else f"{value:,.10g}")
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(ticker.NullFormatter())


def _log_locator(low: float, high: float, *, durations: bool) -> ticker.Locator:
    if high <= 10 * low:
        # Within one power of ten, ticks at its multiples are too few, or too close to each other.
        return ticker.MaxNLocator(5, steps=[1, 2, 5, 10])
    if durations and high > _MINUTE:
        small = [10.0**power for power in range(-9, 0)]
        return ticker.FixedLocator([tick for tick in (*small, *_DURATION_DECADES[1:]) if low <= tick <= high])
    subs = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
    return ticker.LogLocator(subs=subs, numticks=8)


def log1p_axis(ax: Axes, which: Literal["x", "y"], greatest: float, *, durations: bool = False) -> None:
    """Make an axis logarithmic above 1 that still has its 0: the position of x is log(1 + x).

    Parameters
    ----------
    ax, which
        The axes, and which of the two.
    greatest
        The greatest value shown.
    durations
        Whether values are seconds, with ticks at durations.
    """
    if which == "x":
        ax.set_xscale("function", functions=(_log1p, np.expm1))
    else:
        ax.set_yscale("function", functions=(_log1p, np.expm1))
    axis = ax.xaxis if which == "x" else ax.yaxis
    decades = _DURATION_DECADES if durations else (0, *(10**power for power in range(16)))
    axis.set_major_locator(ticker.FixedLocator([tick for tick in decades if tick <= max(greatest, 1)]))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: short_duration(value) if durations else f"{value:,.0f}")
    )
    axis.set_minor_locator(ticker.NullLocator())


def _log1p(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # Margins reach below 0, where nothing is.
    return np.log1p(np.maximum(values, -0.9))
