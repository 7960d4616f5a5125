"""Samples against what their distribution must give, with room for chance and for nothing else."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["agree", "shares_agree"]

_DEVIATIONS = 4.5


def agree(values: npt.NDArray[np.float64], mean: float) -> bool:
    """Tell whether the mean of a sample is within four and a half standard errors of the expectation."""
    return bool(abs(values.mean() - mean) <= _DEVIATIONS * values.std() / np.sqrt(len(values)) + 1e-12)


def shares_agree(
    values: npt.NDArray[np.float64], below: Callable[[float], float], points: list[float]
) -> bool:
    """Tell whether the share below each point is within as many standard errors of the probability."""
    for point in points:
        probability = below(point)
        error = np.sqrt(probability * (1 - probability) / len(values))
        if abs(np.mean(values < point) - probability) > _DEVIATIONS * error + 1e-12:
            return False
    return True
