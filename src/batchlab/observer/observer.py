"""The seam: subclass `Observer`, and give objects of the class to `simulate(…, observers=[…])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["Observer"]


class Observer:
    """Watches a run, keeps values of its own, offers them to policies, and acts through the view.

    Changes are passed on before each scheduling pass and again after the last one of an instant, in the order
    in which it happened. Only the methods that a class defines are called.

    Attributes
    ----------
    name
        Under which `value` is offered in ``view.values``, and `observations` in ``result.observations``.
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
        """Give what policies find in ``view.values[name]``."""
        raise KeyError(f"observer {self.name or type(self).__name__!r} offers no value")

    def observations(self, view: View) -> pl.DataFrame | Mapping[str, pl.DataFrame] | None:
        """Give what has been observed so far, for ``result.observations[name]``; None for nothing.

        Several tables are given by their names. One named ``jobs``, with a row for each of the workload, has
        its columns put into ``result.jobs``.
        """
