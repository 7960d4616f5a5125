"""Predictors of run times: the request, the truth, the user's latest jobs, a quantile learnt online."""

from __future__ import annotations

from collections import deque
from math import cos, log1p, pi, sin
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from batchlab.core import rules
from batchlab.errors import PolicyError, missing_extra
from batchlab.seam.components import Predictor

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt
    from sklearn.linear_model import QuantileRegressor  # type: ignore[import-untyped]  # it has no types

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = [
    "Clairvoyant",
    "Corrected",
    "LastTwo",
    "Quantile",
    "RecursiveMean",
    "Requested",
]


class Requested(Predictor):
    """The requested time, the default of schedulers."""

    def estimate(self, job: Job, view: View) -> float:  # noqa: ARG002
        """Return the requested time, seconds."""
        return job.requested_time


class Clairvoyant(Predictor):
    """The true run time, to measure the effect of perfect estimates."""

    clairvoyant: ClassVar[bool] = True

    def estimate(self, job: Job, view: View) -> float:  # noqa: ARG002
        """Return the run time, seconds."""
        return job.run_time


# Increments of the estimate each time that a job outlives it; seconds.
_INCREMENTS = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 18_000.0, 36_000.0, 72_000.0, 180_000.0, 360_000.0)


class Corrected(Predictor):
    """Separates jobs by user, and corrects estimates; never exceeds the requested time.

    Parameters
    ----------
    column
        The column of the workload with the user.
    """

    def __init__(self, column: str = "user_id") -> None:
        self.column = column
        self._outlived: dict[int, int] = {}

    def begin(self, view: View) -> None:
        """Reset the predictor."""
        self._outlived.clear()
        try:
            self._users: list[Hashable] = view.columns[self.column].tolist()
        except KeyError as error:
            name = type(self).__name__
            raise PolicyError(f"{name} goes by column {self.column!r}: {error.args[0]}") from None

    def user(self, job: Job) -> Hashable:
        """Return the user of a job."""
        return self._users[job.row]

    def correct(self, job: Job, view: View) -> float:  # noqa: ARG002
        """Add an increment that grows with each correction, up to the requested time.

        The idea is from D. Tsafrir, Y. Etsion, D. G. Feitelson: Backfilling using system-generated
        predictions rather than user runtime estimates. IEEE TPDS 18(6), 2007.
        """
        times = self._outlived.get(job.row, 0)
        self._outlived[job.row] = times + 1
        increment = _INCREMENTS[min(times, len(_INCREMENTS) - 1)]
        return min(job.estimate + increment, job.requested_time)

    def learn(self, job: Job, view: View) -> None:  # noqa: ARG002
        """Delete the count of corrections of a finished job."""
        self._outlived.pop(job.row, None)


class LastTwo(Corrected):
    """The average of the run times of the user's two latest finished jobs.

    The estimate of a user's first job is its requested time; no estimate exceeds the requested time.

    Source: D. Tsafrir, Y. Etsion, D. G. Feitelson: Backfilling using system-generated predictions rather than
    user runtime estimates. IEEE TPDS 18(6), 2007 (part of EASY++).

    Parameters
    ----------
    column
        The column of the workload with the user.
    """

    def begin(self, view: View) -> None:
        """Reset the predictor."""
        super().begin(view)
        self._latest: dict[Hashable, deque[float]] = {}

    def estimate(self, job: Job, view: View) -> float:  # noqa: ARG002
        """Return the average of the two latest run times, seconds."""
        latest = self._latest.get(self.user(job))
        if not latest:
            return job.requested_time
        return min(sum(latest) / len(latest), job.requested_time)

    def learn(self, job: Job, view: View) -> None:
        """Store the run time of a finished job."""
        self._latest.setdefault(self.user(job), deque(maxlen=2)).append(job.run_time)
        super().learn(job, view)


class RecursiveMean(Corrected):
    """An exponential mean of the user's run times, in which the latest job has the weight `weight`.

    mean ← (1 − weight)·mean + weight·run_time. The estimate of a user's first job is its requested time; no
    estimate exceeds the requested time.

    Parameters
    ----------
    weight
        Weight of the latest job, in (0, 1].
    column
        The column of the workload with the user.
    """

    def __init__(self, weight: float = 0.5, column: str = "user_id") -> None:
        if not 0 < weight <= 1:
            raise PolicyError(f"weight = {weight}; must be in (0, 1].")
        super().__init__(column)
        self.weight = weight

    def begin(self, view: View) -> None:
        """Reset the predictor."""
        super().begin(view)
        self._mean: dict[Hashable, float] = {}

    def estimate(self, job: Job, view: View) -> float:  # noqa: ARG002
        """Return the user's mean, seconds."""
        mean = self._mean.get(self.user(job))
        return job.requested_time if mean is None else min(mean, job.requested_time)

    def learn(self, job: Job, view: View) -> None:
        """Update the user's mean with the run time of a finished job."""
        user = self.user(job)
        mean = self._mean.get(user, job.run_time)
        self._mean[user] = mean + self.weight * (job.run_time - mean)
        super().learn(job, view)


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
