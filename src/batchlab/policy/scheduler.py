"""Schedulers outside the kernel: a subclass of `Scheduler`, or the loop that drives the simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["ExternalScheduler", "Scheduler"]


class Scheduler:
    """Decides which job runs next; one method, `schedule`.

    An object may keep state from pass to pass; `begin` prepares it for a run. A fork of a simulation works on
    a deep copy of it.

    Attributes
    ----------
    clairvoyant
        Whether jobs show their true run_time before they end. Unless set, only those that are done do.
    every_instant
        Whether `schedule` is called at every instant at which something happens, not only while jobs wait.

    Examples
    --------
    >>> import batchlab as bl
    >>> class ShortestFirst(bl.Scheduler):
    ...     def schedule(self, view):
    ...         for job in sorted(view.queue, key=lambda job: job.requested_time):
    ...             if not view.start(job):
    ...                 break
    """

    clairvoyant: ClassVar[bool] = False
    every_instant: ClassVar[bool] = False

    def begin(self, view: View) -> None:
        """Prepare for a run; called once, before its first instant.

        Parameters
        ----------
        view
            The empty machine and the workload's columns.
        """

    def schedule(self, view: View) -> Iterable[Job] | None:
        """Decide what starts now; called once at each instant, after everything else that happens there.

        Parameters
        ----------
        view
            Which jobs wait and run, what is free, and the ways to act on it.

        Returns
        -------
        iterable of Job or None
            Jobs to be started in this order, each of which must fit; nothing where the decisions were made
            through the view.

        Raises
        ------
        DecisionError
            From the view's methods: a decision that breaks a rule was refused, and nothing was changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define schedule(view)")


class ExternalScheduler(Scheduler):
    """Leaves the decisions to the loop that drives the simulation: `Simulation.decision_points`.

    It is given where a policy or a scheduler goes, and holds no state. A subclass may set ``clairvoyant`` and
    ``every_instant``, as for any `Scheduler`.

    Examples
    --------
    >>> import batchlab as bl
    >>> simulation = bl.Simulation(workload, system, bl.ExternalScheduler())  # doctest: +SKIP
    >>> for point in simulation.decision_points():  # doctest: +SKIP
    ...     for job in point.view.candidates():
    ...         point.view.start(job)
    """

    def schedule(self, view: View) -> NoReturn:  # noqa: ARG002  # the signature is Scheduler's
        """Refuse: the caller decides.

        Raises
        ------
        SimulationError
            Always.
        """
        rule = "loop over Simulation.decision_points()"
        raise SimulationError(f"{type(self).__name__} leaves the decisions to the caller; {rule}.")
