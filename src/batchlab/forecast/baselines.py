"""Forecasts of waits without simulation, as baselines: from past waits, and binomial bounds on them."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.core.random_streams import Floats, Integers

__all__ = ["WaitBounds", "WaitHistory", "queue_lengths"]

_MOST, _LEAST = 2_000, 20
_QUANTILE, _CONFIDENCE, _MISSES, _KEPT = 0.95, 0.95, 3, 59


@dataclass(frozen=True, eq=False)
class WaitHistory:
    """Quantiles of the waits of past jobs of a class, given the time that a job has already waited.

    Parameters
    ----------
    classes
        int64, shape (jobs,): the class of each job.
    submit_time, start_time
        float64, shape (jobs,): seconds; the start is infinite if a job never started.
    order
        Rows by start time.
    """

    classes: Integers
    submit_time: Floats
    start_time: Floats
    order: Integers

    def quantiles(self, at: float, rows: Integers, levels: Sequence[float]) -> Floats:
        """Return quantiles of the time until the start, from waits that had ended by an instant.

        Parameters
        ----------
        at
            The instant, seconds.
        rows
            Rows of the waiting jobs.
        levels
            The levels.

        Returns
        -------
        numpy.ndarray
            float64, shape (levels, rows): seconds from the instant.
        """
        started = self.order[: np.searchsorted(self.start_time[self.order], at, side="right")]
        waits = self.start_time[started] - self.submit_time[started]
        of_class = self.classes[started]
        known = {
            int(each): np.sort(waits[of_class == each][-_MOST:]) for each in np.unique(self.classes[rows])
        }
        every = np.sort(waits[-_MOST:]) if len(waits) else np.zeros(1)
        waited = at - self.submit_time[rows]
        found = np.empty((len(levels), len(rows)))
        for place, row in enumerate(rows):
            own = known[int(self.classes[row])]
            own = own if len(own) >= _LEAST else every
            longer = own[np.searchsorted(own, waited[place], side="right") :]
            # A wait beyond all known ones may last as long again.
            longer = longer if len(longer) else np.array([2 * waited[place]])
            found[:, place] = np.quantile(longer, levels, method="weibull") - waited[place]
        return found


@dataclass(eq=False)
class WaitBounds:
    """Binomial bounds on quantiles of past waits, by class, with change points: QBETS [1].

    After three waits in a row above the 95 % bound on the 95 % quantile, only the last 59 waits are kept.

    Parameters
    ----------
    classes, submit_time, start_time, order
        As for `WaitHistory`.

    References
    ----------
    .. [1] D. Nurmi, J. Brevik, R. Wolski, "QBETS: Queue Bounds Estimation from Time Series", JSSPP 2007.
    """

    classes: Integers
    submit_time: Floats
    start_time: Floats
    order: Integers
    _read: int = 0
    _recent: dict[int, list[float]] = field(default_factory=dict)
    _sorted: dict[int, list[float]] = field(default_factory=dict)
    _misses: dict[int, int] = field(default_factory=dict)

    def quantiles(self, at: float, rows: Integers, levels: Sequence[float]) -> Floats:
        """Return bounds on the time until the start: lower ones below the median, upper ones above it.

        Instants must ascend from call to call. Shapes are those of `WaitHistory.quantiles`.
        """
        self._learn_until(at)
        waited = at - self.submit_time[rows]
        found = np.zeros((len(levels), len(rows)))
        for place, row in enumerate(rows):
            waits = self._sorted.get(int(self.classes[row]), [])
            for number, level in enumerate(levels):
                found[number, place] = bound(waits, level) - waited[place]
        return np.maximum(found, 0.0)

    def _learn_until(self, at: float) -> None:
        while self._read < len(self.order) and self.start_time[self.order[self._read]] <= at:
            row = self.order[self._read]
            self._learn(int(self.classes[row]), float(self.start_time[row] - self.submit_time[row]))
            self._read += 1

    def _learn(self, kind: int, wait: float) -> None:
        recent, ordered = self._recent.setdefault(kind, []), self._sorted.setdefault(kind, [])
        is_miss = len(ordered) >= _KEPT and wait > bound(ordered, _QUANTILE)
        self._misses[kind] = self._misses.get(kind, 0) + 1 if is_miss else 0
        recent.append(wait)
        insort(ordered, wait)
        if self._misses[kind] >= _MISSES:
            self._misses[kind] = 0
            del recent[:-_KEPT]
            self._sorted[kind] = sorted(recent)


def bound(waits: Sequence[float], level: float) -> float:
    """Return the 95 % confidence bound on a quantile of sorted waits; their median at level 0.5."""
    if not waits:
        return 0.0
    place = _rank(len(waits), level)
    return waits[min(max(place, 1), len(waits)) - 1]


@lru_cache(maxsize=100_000)
def _rank(count: int, level: float) -> int:
    """Return the rank, from 1, of the order statistic that bounds a quantile."""
    if level == 0.5:  # noqa: PLR2004  # the median itself
        return (count + 1) // 2
    confidence = _CONFIDENCE if level > 0.5 else 1 - _CONFIDENCE  # noqa: PLR2004
    least = int(stats.binom.ppf(confidence, count, level))
    return least + 1 if level > 0.5 else least  # noqa: PLR2004


def queue_lengths(submit_time: Floats, start_time: Floats, at: Floats) -> Integers:
    """Return the number of waiting jobs at each time: submitted by then, and not yet started."""
    submitted = np.searchsorted(np.sort(submit_time), at, side="right")
    return submitted - np.searchsorted(np.sort(start_time), at, side="right")
