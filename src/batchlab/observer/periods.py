"""Limit of the number of periodic observations in a run."""

from __future__ import annotations

from math import isfinite

from batchlab import _kernel

__all__ = ["MOST_LOOKS", "too_many"]

MOST_LOOKS: int = _kernel.MOST_LOOKS
"""Maximum number of observations of one kind in a run."""


def too_many(begin: float, end: float, interval: float) -> str | None:
    """Return the problem with an interval that is too short for a time span (s); None if it is valid."""
    if not isfinite(interval) or interval <= 0:
        return None
    if (end - begin) / interval > MOST_LOOKS:
        quotient = f"{end - begin:,.10g} s ÷ {interval:,.10g} s"
        return f"{quotient} are more than {MOST_LOOKS:,}; take a longer interval."
    if end + interval == end:
        return f"{end:,.10g} s and {interval:,.10g} s later are one float64; take a longer interval."
    return None
