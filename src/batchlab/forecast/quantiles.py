"""Quantiles of samples, and how good they are as forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.core.random_streams import Floats

__all__ = ["pinball", "sample_quantiles"]


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
