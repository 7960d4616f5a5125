"""Components that users write in Python: subclass one, and pass an object of the class to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = ["Allocator", "ExternalScheduler", "Observer", "Predictor", "Scheduler"]


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
            The waiting and running jobs, the free amounts, and the methods that act on them.

        Returns
        -------
        iterable of Job or None
            Jobs to start in this order; each job must fit. None if the decisions were made through the view.

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


class Allocator:
    """Decides where jobs go; one method, `allocate`.

    Goes with every backfilling rule, and with schedulers written in Python. Rules that reserve nodes ask it
    about planned instants as well: ``view.free`` and ``view.slots`` then show the nodes at that time.

    Attributes
    ----------
    clairvoyant
        Whether jobs show their true run_time before they end.

    Examples
    --------
    >>> import batchlab as bl
    >>> class LastNodesFirst(bl.Allocator):
    ...     def allocate(self, job, view):
    ...         nodes = []
    ...         for node in reversed(range(len(view.free))):
    ...             nodes += [node] * min(view.slots(job, node), job.tasks - len(nodes))
    ...         return nodes if len(nodes) == job.tasks else None
    """

    clairvoyant: ClassVar[bool] = False

    def begin(self, view: View) -> None:
        """Prepare for a run; called once, before its first instant."""

    def allocate(self, job: Job, view: View) -> Mapping[int, int] | Iterable[int] | None:
        """Choose nodes for a job, now or at the instant that is being planned.

        Parameters
        ----------
        job
            The job. Its tasks fit into the free slots of all nodes, but not necessarily into the slots of the
            nodes that it may use.
        view
            The machine; ``free`` and ``slots`` at the instant in question, all else now.

        Returns
        -------
        mapping, iterable or None
            The number of tasks by node; or one node per task; or None if the job cannot be placed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define allocate(job, view)")


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
        """Estimate again the whole run time of a job that has run for its estimate and goes on.

        Unless defined, it is taken to run until its requested time; one past that is taken to end now (S4).

        Returns
        -------
        float
            Seconds from its start, finite and >= 0.
        """
        return job.requested_time

    def learn(self, job: Job, view: View) -> None:
        """Learn from a job that has ended: its run_time is known now."""


class Observer:
    """Watches a run, keeps values of its own, offers them to policies, and acts through the view.

    Changes are passed on before each scheduling pass and again after the last one of an instant, in the order
    in which it happened. Only the methods that a class defines are called.

    Attributes
    ----------
    name
        Key of `value` in ``view.values``, and of `observations` in ``result.observations``.
    """

    name: str = ""

    def begin(self, view: View) -> None:
        """Prepare for a run; called once, before its first instant. Timers may be set here."""

    def wake(self, view: View) -> None:
        """Answer a timer that this observer set with ``view.wake(time)``: first of all at that instant."""

    def submitted(self, job: Job, view: View) -> None:
        """See a job enter the queue."""

    def started(self, job: Job, view: View) -> None:
        """See a job start."""

    def ended(self, job: Job, view: View) -> None:
        """See a job complete or be killed."""

    def rejected(self, job: Job, view: View) -> None:
        """See a job be rejected at its submission."""

    def interrupted(self, job: Job, view: View) -> None:
        """See a running job go back to the queue."""

    def node_drained(self, node: int, view: View) -> None:
        """See a node take no further job."""

    def node_resumed(self, node: int, view: View) -> None:
        """See a node take jobs again."""

    def node_changed(self, node: int, view: View) -> None:
        """See a node offer other amounts."""

    def resized(self, job: Job, view: View) -> None:
        """See the nodes that a running job holds change; ``job.nodes`` are those."""

    def drop_future_events(self) -> None:
        """Forget what cannot be known, such as failures to come: a policy looks ahead with this copy."""

    def value(self, view: View) -> object:  # noqa: ARG002  # others look at the machine
        """Return the value of ``view.values[name]``."""
        raise KeyError(f"observer {self.name or type(self).__name__!r} offers no value")

    def observations(self, view: View) -> pl.DataFrame | Mapping[str, pl.DataFrame] | None:
        """Return the observations so far, for ``result.observations[name]``; None for nothing.

        Several tables are given by their names. One named ``jobs``, with a row for each of the workload, has
        its columns put into ``result.jobs``.
        """
