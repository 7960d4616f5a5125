"""Allocators written in Python: subclass `Allocator`, and give an object of the class to `Policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["Allocator"]


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
            The job; the slots of the nodes suffice for it, though perhaps not those where it is to go.
        view
            The machine; ``free`` and ``slots`` at the instant in question, all else now.

        Returns
        -------
        mapping, iterable or None
            The number of tasks by node; or one node per task; or None where there is no place.
        """
        raise NotImplementedError(f"{type(self).__name__} must define allocate(job, view)")
