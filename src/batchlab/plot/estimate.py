"""A mean over replications, with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Estimate", "estimate"]

_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over replications, and half the width of its 95 % confidence interval, if there is one."""

    mean: float
    half_width: float | None
    count: int


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Compute the mean, with its confidence interval by Student's t if there are several values.

    Parameters
    ----------
    values
        One per replication; None and values that are not finite are ignored.

    Returns
    -------
    Estimate or None
        None if no value is left.
    """
    numbers = np.array([value for value in values if value is not None and math.isfinite(value)], np.float64)
    if not len(numbers):
        return None
    mean, count = float(numbers.mean()), len(numbers)
    if count == 1:
        return Estimate(mean, None, count)
    # The mean of equal numbers may be rounded, and would then seem to differ from them.
    error = float(numbers.std(ddof=1)) / math.sqrt(count) if np.ptp(numbers) else 0.0
    return Estimate(mean, float(stats.t.ppf(0.5 + _LEVEL / 2, count - 1)) * error, count)
