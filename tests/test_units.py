"""Quantities written for people."""

import math

import pytest

from batchlab.units import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-0.001, "0 s"),
        (12.5, "12.5 s"),
        (59.994, "59.99 s"),
        (59.999, "00:01:00"),
        (3599.5, "01:00:00"),
        (7384, "02:03:04"),
        (93784, "1 d 02:03:04"),
        (-93784, "-1 d 02:03:04"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "–"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Durations read like clocks, and carry over at full minutes, hours and days."""
    assert format_duration(seconds) == text
