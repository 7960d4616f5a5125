"""Allocators written in Python: subclass `Allocator`, and give an object of the class to `Policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["Allocator"]


class Allocator:
    """Decides where a job goes; one method, `allocate`.

    Goes with every backfilling rule, and with schedulers written in Python. ``conservative``, and ``easy``
    with several reservations, also ask where a job would go later: then ``view.free`` and ``view.slots`` say
    what is free over the whole of that time.

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
        """Choose nodes for a job that may start at the time in question.

        Parameters
        ----------
        job
            The job; the slots of all nodes suffice for it.
        view
            The machine at this moment; what is free, over the time in question.

        Returns
        -------
        mapping, iterable or None
            The number of tasks by node; or one node per task; or None where there is no place.
        """
        raise NotImplementedError(f"{type(self).__name__} must define allocate(job, view)")
