"""Sums over points below and left of a corner, for many corners at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from batchlab.result.why.runs import Floats, Whole

__all__ = ["Dominance"]


class Dominance:
    """Weighted points (place, value), for sums over the first points whose value is below a bound.

    A merge-sort tree, level by level: O(n log² n) to build, O(log² n) for a sum; all sums at once.

    Parameters
    ----------
    values
        The values of the points in the order of their places, shape (points,).
    weights
        Their weights, shape (points, kinds).
    """

    def __init__(self, values: Floats, weights: Floats) -> None:
        self.count = count = len(values)
        self._sorted = np.sort(values)
        ranks = np.searchsorted(self._sorted, values)
        self._stride = count + 1
        self._kinds = weights.shape[1]
        self._levels: list[tuple[Whole, Floats]] = []
        place = np.arange(count)
        for level in range(count.bit_length()):
            keys = (place >> level) * self._stride + ranks
            order = np.argsort(keys, kind="stable")
            sums = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights[order], axis=0)])
            self._levels.append((keys[order], sums))

    def sums(self, counts: Whole, bounds: Floats, *, inclusive: bool) -> Floats:
        """Add up the weights of the first points with values below bounds, or up to them.

        Parameters
        ----------
        counts
            How many points, from the first place on; shape (corners,).
        bounds
            The bounds of their values; shape (corners,).
        inclusive
            Whether points with the value itself count.

        Returns
        -------
        ndarray
            float64, shape (corners, kinds).
        """
        found = np.zeros((len(counts), self._kinds))
        ranks = np.searchsorted(self._sorted, bounds, "right" if inclusive else "left")
        for level, (keys, sums) in enumerate(self._levels):
            asked = np.flatnonzero((counts >> level) & 1)
            block = (counts[asked] >> level) - 1
            first = np.searchsorted(keys, block * self._stride, "left")
            last = np.searchsorted(keys, block * self._stride + ranks[asked], "left")
            found[asked] += sums[last] - sums[first]
        return found
