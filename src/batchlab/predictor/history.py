"""Predictors that use earlier run times of the same user."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from batchlab.errors import PolicyError
from batchlab.seam.components import Predictor

if TYPE_CHECKING:
    from collections.abc import Hashable

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = ["Corrected", "LastTwo", "RecursiveMean"]

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
