"""EASY backfilling as implemented in AccaSim 1.1, to reproduce its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from batchlab.seam.components import Scheduler

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = ["AccasimEasy"]


@dataclass(unsafe_hash=True)
class AccasimEasy(Scheduler):
    """The scheduler EBF of AccaSim 1.1, which is not textbook EASY.

    The first job that does not fit is blocked. Its reservation is the time at which it would fit if all
    running jobs ended when estimated. That time is computed once. Until then the job is not tried again, even
    if the machine empties; from then on it is tried first in every pass, until it starts. The reservation
    does not restrain other jobs: each later job that fits starts.

    The rule knows nodes and their resources, exclusive jobs and tasks per node. Node groups, partitions and
    limits do not count in the reservation.

    References
    ----------
    .. [1] C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto: AccaSim: a customizable workload management
       simulator for job dispatching research in HPC systems. Cluster Computing 23, 2020; the class
       EASYBackfilling of version 1.1.3
    """

    _blocked: int | None = field(default=None, init=False, repr=False, compare=False)
    _reserved: float = field(default=0.0, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the spec of the policy."""
        return "easy_accasim"

    def begin(self, view: View) -> None:  # noqa: ARG002  # the signature is Scheduler's
        """Reset the state of an earlier run."""
        self._blocked = None

    def schedule(self, view: View) -> None:
        """Try the blocked job if it is due, block the first that does not fit, start later ones that fit."""
        head = self._head(view)
        if head is not None and self._reserved <= view.now and view.start(head):
            head = None
        if head is None:
            head = next((job for job in view.queue if not view.start(job)), None)
            self._reserved = 0.0 if head is None else reserved_time(view, head)
        self._blocked = None if head is None else head.row
        if head is not None:
            for job in view.candidates(after=head):
                view.start(job)

    def _head(self, view: View) -> Job | None:
        """Return the blocked job while it waits."""
        if self._blocked is None:
            return None
        job = view.job(self._blocked)
        return job if job in view.queue else None


def reserved_time(view: View, job: Job) -> float:
    """Compute when a job would fit if the running jobs ended when estimated.

    Parameters
    ----------
    view
        The free amounts and the running jobs.
    job
        A job that does not fit now.

    Returns
    -------
    float
        Seconds; infinite if it does not fit when all of them have ended.
    """
    free, capacity = view.free.copy(), view.capacity
    asked = _amounts(view, job)
    slots = _slots(job, asked, free, capacity)
    total = int(slots.sum())
    for running in sorted(view.running, key=_end):
        nodes = np.fromiter(running.nodes, np.int64)
        if running.exclusive:
            free[nodes] = view.available[nodes]
        else:
            tasks = np.fromiter(running.nodes.values(), np.int64)
            free[nodes] += tasks[:, None] * _amounts(view, running)
        after = _slots(job, asked, free[nodes], capacity[nodes])
        total += int((after - slots[nodes]).sum())
        slots[nodes] = after
        if total >= job.tasks:
            return _end(running)
    return float("inf")


def _end(running: Job) -> float:
    end = running.expected_end
    return float("inf") if end is None else end


def _amounts(view: View, job: Job) -> npt.NDArray[np.int64]:
    return np.array([job.request[name] for name in view.resources], np.int64)


def _slots(
    job: Job,
    asked: npt.NDArray[np.int64],
    free: npt.NDArray[np.int64],
    capacity: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Count the tasks of a job that fit on each node."""
    some = asked > 0
    most = np.full(len(free), job.tasks, np.int64)
    if some.any():
        most = np.minimum(most, (free[:, some] // asked[some]).min(axis=1))
    if job.tasks_per_node:
        most = np.minimum(most, job.tasks_per_node)
    if job.exclusive:
        most = np.where((free == capacity).all(axis=1), most, 0)
    return np.maximum(most, 0)
