"""A predictor that learns a quantile of the run time from data known at submission (scikit-learn)."""

from __future__ import annotations

from math import cos, log1p, pi, sin
from typing import TYPE_CHECKING, cast

import numpy as np

from batchlab.core import rules
from batchlab.errors import PolicyError, missing_extra
from batchlab.predictor.history import Corrected

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt
    from sklearn.linear_model import QuantileRegressor  # type: ignore[import-untyped]  # it has no types

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = ["Quantile"]

_DAY = 86_400.0
# Lower bound of predictions, because a linear model may extrapolate to any value; seconds.
_SHORTEST = 1.0
# Weight of the penalty on large coefficients. Features and target are logarithms.
_PENALTY = 1e-4


class Quantile(Corrected):
    """A quantile of the run time, by a linear model of logarithms trained online.

    A model is fitted to the latest finished jobs after every `batch` finished jobs. Its features are known at
    submission: requested time, tasks, the hour, run times of the same user's latest jobs, and further
    columns. Before the first fit, the estimate is the requested time; no estimate exceeds it. Predictions are
    deterministic.

    Needs the extra ``predict`` (scikit-learn).

    Parameters
    ----------
    quantile
        In (0, 1): the share of jobs that should run no longer than predicted. High quantiles are seldom
        exceeded, low ones leave more room for backfilling.
    batch
        Number of finished jobs between two fits.
    window
        Number of latest jobs used in each fit; 1000 take about 0.1 s.
    column
        The column of the workload with the user.
    further
        Numeric columns to use as further features.

    Raises
    ------
    PolicyError
        If a parameter is out of its range.
    MissingExtraError
        If scikit-learn is not installed.

    Notes
    -----
    Learning run times online to backfill by them: E. Gaussier, D. Glesser, V. Reis, D. Trystram: Improving
    backfilling by using machine learning to predict running times. SC'15.
    """

    def __init__(
        self,
        quantile: float = 0.75,
        *,
        batch: int = 500,
        window: int = 1000,
        column: str = "user_id",
        further: Sequence[str] = (),
    ) -> None:
        quantile = rules.check(PolicyError, "quantile", quantile, rules.Number(above=0, below=1))
        batch = rules.check(PolicyError, "batch", batch, rules.COUNT)
        window = rules.check(PolicyError, "window", window, rules.COUNT)
        super().__init__(column)
        self.quantile = quantile
        self.batch = batch
        self.window = window
        self.further = tuple(further)
        _regressor()

    def begin(self, view: View) -> None:
        """Reset the predictor."""
        super().begin(view)
        self._further = [np.asarray(view.columns[name], dtype=np.float64) for name in self.further]
        self._model: tuple[npt.NDArray[np.float64], float] | None = None
        self._asked: dict[int, list[float]] = {}
        self._seen: list[tuple[list[float], float]] = []
        self._ran: dict[Hashable, tuple[float, float]] = {}
        self._until_fit = self.batch

    def estimate(self, job: Job, view: View) -> float:
        """Return the predicted run time, seconds."""
        features = self._features(job, view.now)
        self._asked[job.row] = features
        if self._model is None:
            return job.requested_time
        weights, constant = self._model
        # Limit the exponent: it cannot overflow, and the prediction never exceeds the requested time.
        predicted = min(float(weights @ features) + constant, log1p(job.requested_time))
        return min(max(float(np.expm1(predicted)), _SHORTEST), job.requested_time)

    def learn(self, job: Job, view: View) -> None:
        """Store a run time, and fit the model after every `batch` jobs."""
        super().learn(job, view)
        ran = log1p(job.run_time)
        _, mean = self._ran.get(self.user(job), (ran, ran))
        self._ran[self.user(job)] = (ran, (mean + ran) / 2)
        self._seen.append((self._asked.pop(job.row), ran))
        self._until_fit -= 1
        if self._until_fit == 0:
            self._fit()

    def _fit(self) -> None:
        self._until_fit = self.batch
        self._seen = self._seen[-self.window :]
        features, ran = zip(*self._seen, strict=True)
        model = _regressor()(quantile=self.quantile, alpha=_PENALTY).fit(features, ran)
        self._model = np.asarray(model.coef_), float(model.intercept_)

    def _features(self, job: Job, now: float) -> list[float]:
        requested = log1p(job.requested_time)
        angle = 2 * pi * (now % _DAY) / _DAY
        # For a new user, the requested time replaces earlier run times.
        latest, mean = self._ran.get(self.user(job), (requested, requested))
        further = (float(column[job.row]) for column in self._further)
        return [requested, log1p(job.tasks), latest, mean, sin(angle), cos(angle), *further]


def _regressor() -> type[QuantileRegressor]:
    try:
        from sklearn.linear_model import QuantileRegressor as Regressor  # noqa: PLC0415  # an extra
    except ImportError:
        raise missing_extra("Quantile", "scikit-learn>=1.5") from None
    return cast("type[QuantileRegressor]", Regressor)
