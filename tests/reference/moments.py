"""Times inside applications, which no rounding touches: exact sums of float64 durations (S1)."""

from fractions import Fraction
from math import inf, isinf, nextafter

Moment = Fraction | float
"""A time in seconds; infinite if it never comes."""


def later(moment: Moment, seconds: float) -> Moment:
    """Return the moment so many seconds later."""
    if isinf(moment) or isinf(seconds):
        return inf
    return Fraction(moment) + Fraction(seconds)


def lasted(since: Moment, now: Moment) -> float:
    """Return the seconds between two moments, rounded once."""
    return float(Fraction(now) - Fraction(since))


def floor(moment: Moment) -> float:
    """Return the last float64 time that is not after a moment."""
    nearest = float(moment)
    return nextafter(nearest, -inf) if nearest > moment else nearest
