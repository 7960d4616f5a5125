"""Durations as people read them."""

import numpy as np
import pytest

from batchlab.plot.scales import DurationLocator, nice_step, short_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (-90, "−1 min 30 s"),
        (2e-10, "0.2 ns"),
        (0.25, "250 ms"),
        (59.5, "59.5 s"),
        (3599.9, "1 h"),
        (5400, "1 h 30 min"),
        (86_400, "1 d"),
        (90_061, "1 d 1 h"),
        (86_400 * 2000, "2,000 d"),
        (np.nan, "–"),
    ],
)
def test_short_durations(seconds: float, text: str) -> None:
    """One or two units, rounded to the second, with a sign that cannot be mistaken."""
    assert short_duration(seconds) == text


@pytest.mark.parametrize("span", [1e-8, 3e-4, 0.5, 7, 100, 5000, 1e5, 1e6, 1e8, 1e12])
def test_steps_are_round(span: float) -> None:
    """A step covers the span at most so many times, and not a tenth as often."""
    step = nice_step(span, 8)
    assert 0.8 <= span / step <= 8 + 1e-9 or step == 10_000 * 86_400
    assert short_duration(step).count(" ") == 1


def test_ticks() -> None:
    """Ticks are multiples of the step within the axis."""
    assert [*DurationLocator().tick_values(-10, 7 * 3600)] == [3600.0 * hour for hour in range(8)]
    assert [*DurationLocator().tick_values(5, 5)] == [5]
