"""Baselines of forecasts: from past waits, binomial bounds on them, and boosted trees with the plan."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from batchlab.forecast.draws import ensemble_models
from batchlab.forecast.scores import from_log_scale, to_log_scale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from batchlab.core.random_streams import Floats, Integers

__all__ = ["BoostedWaits", "WaitBounds", "WaitHistory", "queue_lengths"]

_MOST, _LEAST = 2_000, 20
_QUANTILE, _CONFIDENCE, _MISSES, _KEPT = 0.95, 0.95, 3, 59
_TABLE = 256
_LEAVES = 15


@dataclass(frozen=True, eq=False)
class WaitHistory:
    """Quantiles of the waits of past jobs of a class, given the time that a job has already waited.

    An instant costs O(log n) for n jobs, and a sort of the latest waits of each class.

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

    @cached_property
    def _by_class(self) -> dict[int, Integers]:
        """The rows of each class by start time."""
        of_class = self.classes[self.order]
        return {int(each): self.order[of_class == each] for each in np.unique(of_class)}

    def _waits(self, started: Integers, at: float) -> Floats:
        """Return the latest waits that had ended by an instant, ascending; the rows are by start time."""
        count = bisect_right(started, at, key=self.start_time.__getitem__)
        latest = started[max(0, count - _MOST) : count]
        return np.sort(self.start_time[latest] - self.submit_time[latest])

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
        waited, of_class = at - self.submit_time[rows], self.classes[rows]
        found = np.empty((len(levels), len(rows)))
        every: Floats | None = None
        for each in np.unique(of_class):
            places = np.flatnonzero(of_class == each)
            own = self._waits(self._by_class.get(int(each), self.order[:0]), at)
            if len(own) < _LEAST:
                every = self._waits(self.order, at) if every is None else every
                own = every if len(every) else np.zeros(1)
            found[:, places] = _longer(own, waited[places], levels) - waited[places]
        return found


def _longer(waits: Floats, waited: Floats, levels: Sequence[float]) -> Floats:
    """Return quantiles of those of the ascending waits that are longer than each time waited.

    A wait beyond all known ones may last as long again.
    """
    begin = np.searchsorted(waits, waited, side="right")
    count = len(waits) - begin
    places = np.clip(np.outer(levels, count + 1), 1, np.maximum(count, 1)) - 1
    below = np.floor(places).astype(np.int64)
    low = waits[np.minimum(begin + below, len(waits) - 1)]
    high = waits[np.minimum(begin + np.minimum(below + 1, np.maximum(count - 1, 0)), len(waits) - 1)]
    found: Floats = np.where(count == 0, 2 * waited, low + (places - below) * (high - low))
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
        waited, of_class = at - self.submit_time[rows], self.classes[rows]
        found = np.zeros((len(levels), len(rows)))
        for each in np.unique(of_class):
            waits = self._sorted.get(int(each), [])
            bounds = np.array([bound(waits, level) for level in levels])
            found[:, of_class == each] = bounds[:, None]
        return np.maximum(found - waited, 0.0)

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


def _rank(count: int, level: float) -> int:
    """Return the rank, from 1, of the order statistic that bounds a quantile."""
    if level == 0.5:  # noqa: PLR2004  # the median itself
        return (count + 1) // 2
    return int(_ranks(level, count // _TABLE)[count % _TABLE])


@lru_cache(maxsize=4096)
def _ranks(level: float, part: int) -> Integers:
    """Return a part of the table of ranks by count: one call of the binomial distribution is slow."""
    counts = np.arange(part * _TABLE, (part + 1) * _TABLE)
    confidence = _CONFIDENCE if level > 0.5 else 1 - _CONFIDENCE  # noqa: PLR2004
    least = np.nan_to_num(stats.binom.ppf(confidence, counts, level)).astype(np.int64)
    return least + 1 if level > 0.5 else least  # noqa: PLR2004


@dataclass(frozen=True, eq=False)
class BoostedWaits:
    """Quantiles of the time until the start by gradient-boosted trees, one model per level.

    Parameters
    ----------
    models
        One model per level, of log(60 s + time).
    """

    models: tuple[Any, ...]

    @classmethod
    def fit(cls, features: Floats, outcome: Floats, levels: Sequence[float]) -> BoostedWaits:
        """Fit the models.

        Parameters
        ----------
        features
            float64, shape (features, cases).
        outcome
            float64, shape (cases,): the times until the start, seconds.
        levels
            The levels.
        """
        kind = ensemble_models().HistGradientBoostingRegressor
        # A dependency of scikit-learn, without types.
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415

        scaled = to_log_scale(outcome)
        models = [
            kind(loss="quantile", quantile=level, max_leaf_nodes=_LEAVES, random_state=0) for level in levels
        ]
        # Threads of OpenMP that wait for each other are slow where other processes use the cores.
        with threadpool_limits(1):
            return cls(tuple(model.fit(features.T, scaled) for model in models))

    def quantiles(self, features: Floats) -> Floats:
        """Return the quantiles: float64, shape (levels, cases), seconds, ascending by level."""
        found = np.stack([model.predict(features.T) for model in self.models])
        return np.sort(np.maximum(from_log_scale(found), 0.0), axis=0)


def queue_lengths(submit_time: Floats, start_time: Floats, at: Floats) -> Integers:
    """Return the number of waiting jobs at each time: submitted by then, and not yet started."""
    submitted = np.searchsorted(np.sort(submit_time), at, side="right")
    return submitted - np.searchsorted(np.sort(start_time), at, side="right")
