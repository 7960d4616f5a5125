"""Predictors without learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from batchlab.seam.components import Predictor

if TYPE_CHECKING:
    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = ["Clairvoyant", "Requested"]


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
