"""Statistics of the waits of job groups, for given counts of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.slurm.twin.groups import Grouping

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

__all__ = ["STATISTICS", "GroupedWaits"]

STATISTICS = ("mean", "median", "p95")
_QUANTILES = (0.5, 0.95)


class GroupedWaits:
    """The waits of groups of jobs under one configuration.

    Waits are sorted once, so that the statistics of all groups cost O(jobs × seeds) for any counts.

    Parameters
    ----------
    waits
        Shape (seeds, jobs): seconds, for the runs with each seed, which are pooled.
    grouping
        The groups.
    """

    def __init__(self, waits: Floats, grouping: Grouping) -> None:
        seeds, jobs = waits.shape
        group = np.tile(grouping.number, seeds)
        values = waits.ravel()
        order = np.lexsort((values, group))
        self._values = values[order]
        self._job = np.tile(np.arange(jobs), seeds)[order]
        self._begins = np.searchsorted(group[order], np.arange(len(grouping.names)))
        self._ends = np.append(self._begins[1:], len(order))

    def statistics(self, counts: Integers) -> Floats:
        """Return mean, median and 95 % quantile of each group.

        Parameters
        ----------
        counts
            Shape (jobs,): the count of each job, as in a resample.

        Returns
        -------
        numpy.ndarray
            float64, shape (groups, 3), seconds: NaN if all counts in a group are 0. A quantile is the
            smallest wait that this fraction of the jobs does not exceed.
        """
        weights = counts[self._job]
        before = np.concatenate([[0], np.cumsum(weights)])
        sums = np.concatenate([[0.0], np.cumsum(weights * self._values)])
        first, total = before[self._begins], before[self._ends] - before[self._begins]
        with np.errstate(invalid="ignore"):
            means = (sums[self._ends] - sums[self._begins]) / total
        columns = [means, *(self._quantile(before, first, total, part) for part in _QUANTILES)]
        found = np.stack(columns, axis=1)
        found[total == 0] = np.nan
        return found

    def _quantile(self, before: Integers, first: Integers, total: Integers, part: float) -> Floats:
        # The first position with a sufficient cumulative count is the quantile.
        reached = first + np.maximum(np.ceil(part * total - 1e-9), 1)
        places = np.searchsorted(before[1:], reached, side="left")
        waits: Floats = self._values[np.minimum(places, len(self._values) - 1)]
        return waits
