"""Scores of quantile forecasts: coverage, sharpness and pinball loss, by cases and by instants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core.random_streams import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.core.random_streams import Floats, Integers

_NORMAL_975 = 1.959963984540054

__all__ = ["CLASSES", "LEVELS", "Cases", "Scores", "classes_of", "pinball", "sample_quantiles"]


def sample_quantiles(starts: Floats, levels: Sequence[float]) -> Floats:
    """Return quantiles of samples without bias: the order statistics p (S + 1), interpolated.

    Parameters
    ----------
    starts
        float64, shape (samples, jobs).
    levels
        The levels p.

    Returns
    -------
    numpy.ndarray
        float64, shape (levels, jobs).
    """
    ordered, count = np.sort(starts, axis=0), len(starts)
    places = np.clip(np.asarray(levels) * (count + 1), 1, count) - 1
    below = np.floor(places).astype(np.int64)
    above = np.minimum(below + 1, count - 1)
    part = (places - below)[:, None]
    with np.errstate(invalid="ignore"):
        between = ordered[below] + part * (ordered[above] - ordered[below])
    found: Floats = np.where((part == 0) | (ordered[above] == ordered[below]), ordered[below], between)
    return found


_OFFSET = 60.0


def to_log_scale(seconds: Floats) -> Floats:
    """Return log(60 s + time): the scale in which errors of forecasts are compared and learnt."""
    scaled: Floats = np.log(_OFFSET + np.maximum(seconds, 0.0))
    return scaled


def from_log_scale(scaled: Floats) -> Floats:
    """Return the times of `to_log_scale`, seconds."""
    seconds: Floats = np.exp(scaled) - _OFFSET
    return seconds


def interval_of_quantiles(starts: Floats, levels: Sequence[float]) -> Floats:
    """Return half the width of the 95 % confidence interval of each quantile, for any distribution.

    The ends are the order statistics p S ± 1.96 √(S p (1 − p)), rounded outwards; the upper one plus 1.

    Parameters
    ----------
    starts
        float64, shape (samples, jobs): seconds.
    levels
        The levels p.

    Returns
    -------
    numpy.ndarray
        float64, shape (levels, jobs): seconds; infinite if there are too few samples for an end.
    """
    ordered, count = np.sort(starts, axis=0), len(starts)
    found = np.full((len(levels), starts.shape[1]), np.inf)
    for place, level in enumerate(levels):
        middle, spread = count * level, _NORMAL_975 * np.sqrt(count * level * (1 - level))
        low, high = int(np.floor(middle - spread)), int(np.ceil(middle + spread)) + 1
        if low >= 1 and high <= count:
            one, other = ordered[low - 1], ordered[high - 1]
            # A job that starts in no sample is known not to start.
            with np.errstate(invalid="ignore"):
                found[place] = np.where(one == other, 0.0, (other - one) / 2)
    return found


def pinball(forecast: Floats, outcome: Floats, level: float) -> Floats:
    """Return the pinball loss of quantile forecasts: (y - x) p if y >= x, else (x - y) (1 - p).

    Parameters
    ----------
    forecast
        float64, shape (n,): the forecasts x of the quantile.
    outcome
        float64, shape (n,): what happened, y.
    level
        The level p of the quantile.
    """
    error = outcome - forecast
    loss: Floats = np.where(error >= 0, error * level, -error * (1.0 - level))
    return loss


LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""The levels of an evaluation: the ends of the 50, 80 and 90 % intervals, and the median."""
MEDIAN = LEVELS.index(0.5)
_INTERVALS = {50: (2, 4), 80: (1, 5), 90: (0, 6)}
_LOSSES = (1, 3, 5)
_EDGES = (600.0, 3_600.0, 10_800.0, 43_200.0, 86_400.0)
CLASSES = ("10 min", "1 h", "3 h", "12 h", "1 d", "more")
"""The classes of the forecast's median, by their upper ends."""
_RESAMPLES = 200


def classes_of(median: Floats) -> Integers:
    """Return the class of each median: an index into `CLASSES`."""
    return np.searchsorted(_EDGES, median, side="right")


@dataclass(frozen=True, eq=False)
class Cases:
    """Waiting jobs at several instants, and when they started.

    Parameters
    ----------
    instant
        int64, shape (cases,): the number of the instant, ascending.
    row
        int64, shape (cases,): the row of the job.
    outcome
        float64, shape (cases,): seconds from the instant until the start.
    """

    instant: Integers
    row: Integers
    outcome: Floats

    def __len__(self) -> int:
        return len(self.instant)

    def part(self, is_in: npt.NDArray[np.bool_]) -> Cases:
        """Return some of the cases."""
        return Cases(self.instant[is_in], self.row[is_in], self.outcome[is_in])

    def by_instant(self, values: Floats) -> Floats:
        """Return the mean of values of the cases at each instant."""
        _, place = np.unique(self.instant, return_inverse=True)
        return np.bincount(place, values) / np.bincount(place)


@dataclass(frozen=True)
class Scores:
    """The scores of one method.

    Parameters
    ----------
    coverage
        The share of the outcomes in the 50, 80 and 90 % interval, by level in percent.
    coverage_error
        The standard error of the coverage of the 80 % interval, by bootstrap over instants.
    pinball_by_cases, pinball_by_instants
        The mean pinball loss at 10, 50 and 90 %, seconds: over the cases, and over the means of the instants.
    median_error
        The median of the absolute error of the forecast's median, seconds.
    width
        The mean width of the 80 % interval, seconds.
    points
        The share of the cases whose 80 % interval is a point.
    """

    coverage: dict[int, float]
    coverage_error: float
    pinball_by_cases: float
    pinball_by_instants: float
    median_error: float
    width: float
    points: float

    @classmethod
    def of(cls, forecast: Floats, cases: Cases) -> Scores:
        """Score forecasts: float64, shape (levels, cases), seconds from the instants."""
        covered = {
            level: (forecast[low] <= cases.outcome) & (cases.outcome <= forecast[high])
            for level, (low, high) in _INTERVALS.items()
        }
        low, high = (forecast[place] for place in _INTERVALS[80])
        losses = loss_of(forecast, cases.outcome)
        return cls(
            {level: float(inside.mean()) for level, inside in covered.items()},
            _error_of_mean(covered[80], cases.instant),
            float(losses.mean()),
            float(cases.by_instant(losses).mean()),
            float(np.median(np.abs(forecast[MEDIAN] - cases.outcome))),
            float((high - low).mean()),
            float((high == low).mean()),
        )


def loss_of(forecast: Floats, outcome: Floats) -> Floats:
    """Return the mean pinball loss at 10, 50 and 90 % of each case, seconds."""
    losses = [pinball(forecast[place], outcome, LEVELS[place]) for place in _LOSSES]
    mean: Floats = np.mean(losses, axis=0)
    return mean


def coverage_by_class(forecast: Floats, cases: Cases) -> list[tuple[str, int, int, float, float]]:
    """Return the name, cases, instants, coverage of the 80 % interval and its error of each class."""
    low, high = (forecast[place] for place in _INTERVALS[80])
    inside = (low <= cases.outcome) & (cases.outcome <= high)
    number = classes_of(forecast[MEDIAN])
    found = []
    for each in np.unique(number):
        own = number == each
        instants = len(np.unique(cases.instant[own]))
        share, error = float(inside[own].mean()), _error_of_mean(inside[own], cases.instant[own])
        found.append((CLASSES[each], int(own.sum()), instants, share, error))
    return found


def reliability(forecast: Floats, outcome: Floats, levels: Sequence[float]) -> Floats:
    """Return the share of outcomes at or below the forecast of each level."""
    return np.array([(outcome <= forecast[place]).mean() for place in range(len(levels))])


def _error_of_mean(inside: Floats, instant: Integers) -> float:
    """Return the standard error of a mean over cases, by bootstrap over instants."""
    _, place = np.unique(instant, return_inverse=True)
    sums, counts = np.bincount(place, inside), np.bincount(place)
    chosen = stream(0, "bootstrap of instants").integers(0, len(sums), (_RESAMPLES, len(sums)))
    return float((sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)).std())
