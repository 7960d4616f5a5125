"""Quantile forecasts adjusted by the errors of a calibration period: split conformal prediction [1].

Each level is adjusted for itself, in g(y) = log(60 s + y), by class of the forecast's median if a class has
enough cases.

References
----------
.. [1] Y. Romano, E. Patterson, E. J. Candès, "Conformalized Quantile Regression", NeurIPS 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.forecast.scores import classes_of, from_log_scale, to_log_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.core.random_streams import Floats, Integers

__all__ = ["Adjustment"]

_LEAST_CASES, _LEAST_INSTANTS = 80, 30
_LARGEST_SHIFT = 2.0
"""In the logarithmic scale: a forecast is changed by a factor of e² at most."""


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Shifts of quantiles in the logarithmic scale.

    Parameters
    ----------
    median
        The place of the median among the levels.
    pooled
        float64, shape (levels,): the shifts of all classes without shifts of their own.
    by_class
        The shifts of each class of the forecast's median, by number.
    """

    median: int
    pooled: Floats
    by_class: dict[int, Floats]

    @classmethod
    def fit(
        cls, forecast: Floats, outcome: Floats, instant: Integers, levels: Sequence[float], *, median: int
    ) -> Adjustment:
        """Fit the shifts.

        Parameters
        ----------
        forecast
            float64, shape (levels, cases): forecast times until the start, seconds.
        outcome
            float64, shape (cases,): the times until the start, seconds.
        instant
            int64, shape (cases,): the number of the instant of each case.
        levels
            The levels.
        median
            The place of the median among them.
        """
        errors = to_log_scale(outcome) - to_log_scale(forecast)
        number = classes_of(forecast[median])
        by_class = {}
        for each in np.unique(number):
            own = number == each
            if own.sum() >= _LEAST_CASES and len(np.unique(instant[own])) >= _LEAST_INSTANTS:
                by_class[int(each)] = _shifts(errors[:, own], levels)
        return cls(median, _shifts(errors, levels), by_class)

    def apply(self, forecast: Floats) -> Floats:
        """Return the adjusted forecasts: float64, shape (levels, cases), ascending by level."""
        number = classes_of(forecast[self.median])
        shifts = np.repeat(self.pooled[:, None], forecast.shape[1], axis=1)
        for each, own in self.by_class.items():
            shifts[:, number == each] = own[:, None]
        adjusted = from_log_scale(to_log_scale(forecast) + shifts)
        return np.sort(np.maximum(adjusted, 0.0), axis=0)


def _shifts(errors: Floats, levels: Sequence[float]) -> Floats:
    count = errors.shape[1]
    if not count:
        return np.zeros(len(levels))
    ordered = np.sort(errors, axis=1)
    ranks = [min(max(math.ceil((count + 1) * level), 1), count) - 1 for level in levels]
    return np.clip(ordered[np.arange(len(levels)), ranks], -_LARGEST_SHIFT, _LARGEST_SHIFT)
