"""Backfilling rules written as Python schedulers, as users write them: each must equal the kernel's rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import Scheduler

if TYPE_CHECKING:
    from batchlab.seam import View


class InOrder(Scheduler):
    """No backfilling: start jobs in the order of the queue, stop at the first that does not fit."""

    def schedule(self, view: View) -> None:
        """Start jobs in order while they fit."""
        for job in view.queue:
            if not view.start(job):
                return


class FirstFit(Scheduler):
    """First fit: start every job that fits, in the order of the queue."""

    def schedule(self, view: View) -> None:
        """Start every job that fits."""
        for job in view.candidates():
            view.start(job)


class Easy(Scheduler):
    """EASY backfilling: a later job may start if it delays none of the first that do not fit.

    Parameters
    ----------
    reservations
        How many waiting jobs are not delayed; at least 1.
    """

    def __init__(self, reservations: int = 1) -> None:
        self.reservations = reservations

    def schedule(self, view: View) -> None:
        """Start in order, reserve for the first that do not fit, and fill the holes."""
        left = self.reservations
        last = None
        for job in view.queue:
            if view.start(job):
                continue
            if left < self.reservations and view.place(job) is not None:
                # It fits, but would delay a reservation: it waits without one of its own.
                continue
            view.reserve(job)
            left -= 1
            if left == 0:
                last = job
                break
        if last is not None:
            for job in view.candidates(after=last):
                view.start(job)
