"""A predictor that learns a quantile of the run time from what is known at submission, by scikit-learn."""

from __future__ import annotations

from math import cos, log1p, pi, sin
from typing import TYPE_CHECKING, cast

import numpy as np

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
# A line may lead anywhere; seconds.
_SHORTEST = 1.0
# Weight of the penalty on large coefficients; features and target are logarithms.
_PENALTY = 1e-4


class Quantile(Corrected):
    """A quantile of the run time, by a linear model of logarithms trained online.

    A model is fitted to the latest jobs that have ended each time that `batch` further ones have. It goes by
    what is known at submission: requested time, tasks, the hour, what the same user's latest jobs took, and
    further columns of one's own. Until the first fit jobs are taken to run for their requested time; no job
    for more. Same run, same estimates: nothing is random.

    Needs the extra ``predict`` (scikit-learn).

    Parameters
    ----------
    quantile
        In (0, 1): the share of jobs that should run no longer than predicted. High ones are seldom outlived,
        low ones leave more room to backfill.
    batch
        How many jobs have to end between two fits.
    window
        How many of the latest jobs each fit looks at; 1000 take about 0.1 s.
    column
        The column of the workload that tells whose a job is.
    further
        Columns of numbers to go by as well.

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
        if not 0 < quantile < 1:
            raise PolicyError(f"quantile = {quantile}; must be in (0, 1).")
        for name, value in (("batch", batch), ("window", window)):
            if value < 1:
                raise PolicyError(f"{name} = {value}; must be at least 1.")
        super().__init__(column)
        self.quantile = quantile
        self.batch = batch
        self.window = window
        self.further = tuple(further)
        _regressor()

    def begin(self, view: View) -> None:
        """Forget everything."""
        super().begin(view)
        self._further = [np.asarray(view.columns[name], dtype=np.float64) for name in self.further]
        self._model: tuple[npt.NDArray[np.float64], float] | None = None
        self._asked: dict[int, list[float]] = {}
        self._seen: list[tuple[list[float], float]] = []
        self._ran: dict[Hashable, tuple[float, float]] = {}
        self._until_fit = self.batch

    def estimate(self, job: Job, view: View) -> float:
        """Predict, seconds."""
        features = self._features(job, view.now)
        self._asked[job.row] = features
        if self._model is None:
            return job.requested_time
        weights, constant = self._model
        # No exponent that overflows: more than was requested is never said.
        predicted = min(float(weights @ features) + constant, log1p(job.requested_time))
        return min(max(float(np.expm1(predicted)), _SHORTEST), job.requested_time)

    def learn(self, job: Job, view: View) -> None:
        """Take note of a run time, and fit anew if it is time to."""
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
        # Of a new user nothing is known: the request stands in.
        latest, mean = self._ran.get(self.user(job), (requested, requested))
        further = (float(column[job.row]) for column in self._further)
        return [requested, log1p(job.tasks), latest, mean, sin(angle), cos(angle), *further]


def _regressor() -> type[QuantileRegressor]:
    try:
        from sklearn.linear_model import QuantileRegressor as Regressor  # noqa: PLC0415  # an extra
    except ImportError:
        raise missing_extra("Quantile", "scikit-learn>=1.5") from None
    return cast("type[QuantileRegressor]", Regressor)
