"""The seam: subclass `Predictor`, and give an object of the class to `Policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["Predictor"]


class Predictor:
    """Estimates run times; one method, `estimate`, and two more to learn and to correct estimates.

    Orders and backfilling rules then plan with the estimate in place of the requested time. The limit at
    which ``walltime="kill"`` ends a job is its time limit.

    Attributes
    ----------
    clairvoyant
        Whether jobs show their true run_time before they end.
    """

    clairvoyant: ClassVar[bool] = False

    def begin(self, view: View) -> None:
        """Prepare for a run; called once, before its first instant."""

    def estimate(self, job: Job, view: View) -> float:
        """Estimate a job's run time at its submission.

        Parameters
        ----------
        job
            The job; its attributes are the workload's columns.
        view
            The machine at this moment.

        Returns
        -------
        float
            Seconds, finite and >= 0.
        """
        raise NotImplementedError(f"{type(self).__name__} must define estimate(job, view)")

    def correct(self, job: Job, view: View) -> float:  # noqa: ARG002  # others look at the machine
        """Estimate anew the whole run time of a job that has run for its estimate and goes on.

        Unless defined, it is taken to run until its requested time; one past that is taken to end now (S4).

        Returns
        -------
        float
            Seconds from its start, finite and >= 0.
        """
        return job.requested_time

    def learn(self, job: Job, view: View) -> None:
        """Learn from a job that has ended: its run_time is known now."""
