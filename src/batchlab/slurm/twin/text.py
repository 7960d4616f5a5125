"""Format durations with three digits in one unit, and wrap text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Unit", "amount", "amounts", "unit_of", "wrapped"]

_MANY = 1000
_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def amount(seconds: float | None) -> str:
    """Format a duration in one unit, as ``1.5 h``; a dash if unknown."""
    if seconds is None:
        return "–"
    unit = _unit(abs(seconds))
    return f"{unit.plain(seconds)} {unit.name}"


def amounts(seconds: tuple[float, ...]) -> str:
    """Format the minimum and the maximum of durations."""
    least, most = amount(min(seconds)), amount(max(seconds))
    return least if least == most else f"{least} to {most}"


class Unit(NamedTuple):
    """A unit for the durations of a column."""

    name: str
    seconds: float

    def plain(self, seconds: float | None) -> str:
        """Format a duration without its unit; a dash if unknown."""
        return "–" if seconds is None else _digits(seconds / self.seconds)

    def interval(self, seconds: float, low: float, high: float) -> str:
        """Format a duration with its interval, as ``1.5 (0.9 to 2.1)``."""
        return f"{self.plain(seconds)} ({self.plain(low)} to {self.plain(high)})"

    def difference(self, seconds: float, low: float, high: float) -> str:
        """Format a difference with its interval, as ``+1.5 (0.9 to 2.1)``."""
        return f"{'+' if seconds > 0 else ''}{self.interval(seconds, low, high)}"


def unit_of(seconds: Iterable[float | None]) -> Unit:
    """Return a common unit for several durations: the unit of their median."""
    known = sorted(abs(each) for each in seconds if each)
    return _unit(known[len(known) // 2]) if known else Unit(*_UNITS[-1])


def _unit(greatest: float) -> Unit:
    return Unit(*next((each for each in _UNITS if greatest >= each[1]), _UNITS[-1]))


def _digits(value: float) -> str:
    """Format a number with three digits and at most two decimals; without decimals from 1,000 on."""
    exact = float(f"{value:.0f}") if abs(value) >= _MANY else float(f"{value:.3g}")
    rounded = round(exact, 2) + 0.0  # no "-0"
    return f"{rounded:,.12g}".replace("-", "−")


_WIDTH = 80


def wrapped(text: str) -> list[str]:
    """Wrap a text into lines; continuation lines are indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=True)
