"""Durations of three digits in one unit, for tables."""

from __future__ import annotations

__all__ = ["amount", "amounts", "scaled"]

_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def amount(seconds: float | None) -> str:
    """Write a duration in one unit, as ``1.5 h``; nothing known is a dash."""
    if seconds is None:
        return "–"
    unit, size = _unit(abs(seconds))
    return f"{_digits(seconds / size)} {unit}"


def amounts(seconds: tuple[float, ...]) -> str:
    """Write the least and the greatest of durations."""
    least, most = amount(min(seconds)), amount(max(seconds))
    return least if least == most else f"{least} to {most}"


def scaled(seconds: float, low: float, high: float) -> str:
    """Write a difference with its interval in one unit, as ``+1.5 min (0.9 to 2.1)``."""
    unit, size = _unit(max(abs(seconds), abs(low), abs(high)))
    value, least, most = (_digits(each / size) for each in (seconds, low, high))
    return f"{'+' if seconds > 0 else ''}{value} {unit} ({least} to {most})"


def _unit(greatest: float) -> tuple[str, float]:
    return next((each for each in _UNITS if greatest >= each[1]), _UNITS[-1])


def _digits(value: float) -> str:
    """Write three digits, and no more than two decimals."""
    rounded = round(float(f"{value:.3g}"), 2) + 0.0  # no "-0"
    return f"{rounded:.12g}".replace("-", "−")
