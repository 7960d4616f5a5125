"""The built-in rules, orders and allocators written once more as users would write them."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import batchlab as bl
from support.python_schedulers import Easy, FirstFit, InOrder

__all__ = ["ALLOCATORS", "DYNAMIC_ORDERS", "SCHEDULERS", "STATIC_ORDERS"]

SCHEDULERS: dict[str, Callable[[int], bl.Scheduler]] = {
    "none": lambda _: InOrder(),
    "first_fit": lambda _: FirstFit(),
    "easy": Easy,
}

Floats = npt.NDArray[np.float64]


def static_processors(jobs: bl.Columns) -> npt.NDArray[np.int64]:
    """Give the processors that jobs ask for."""
    return jobs.tasks * (jobs.core if "core" in jobs else 1)


def processors(queue: bl.Queue) -> npt.NDArray[np.int64]:
    """Give the processors that waiting jobs ask for."""
    return queue.tasks * (queue.core if hasattr(queue, "core") else 1)


STATIC_ORDERS: dict[str, Callable[[bl.Columns], npt.ArrayLike]] = {
    "fcfs": lambda jobs: np.zeros(len(jobs.tasks)),
    "sjf": lambda jobs: jobs.requested_time,
    "ljf": lambda jobs: -jobs.requested_time,
    "saf": lambda jobs: jobs.requested_time * static_processors(jobs),
    "laf": lambda jobs: -(jobs.requested_time * static_processors(jobs)),
    "smallest": static_processors,
    "largest": lambda jobs: [-int(each) for each in static_processors(jobs)],
}


def wfp3(queue: bl.Queue, now: float) -> Floats:
    """Order as the built-in rule does."""
    quotient: Floats = (now - queue.submit_time) / queue.requested_time
    return -(quotient * quotient * quotient * processors(queue))


def unicef(queue: bl.Queue, now: float) -> Floats:
    """Order as the built-in rule does."""
    wait: Floats = now - queue.submit_time
    area: Floats = np.log2(processors(queue)) * queue.requested_time
    return -(wait / area)


def clean(order: Callable[[bl.Queue, float], Floats]) -> Callable[[bl.Queue, float], Floats]:
    """Count what is not a number as 0."""

    def cleaned(queue: bl.Queue, now: float) -> Floats:
        with np.errstate(all="ignore"):
            keys = order(queue, now)
        return np.where(np.isnan(keys), 0.0, keys)

    return cleaned


DYNAMIC_ORDERS: dict[str, Callable[[bl.Queue, float], npt.ArrayLike]] = {
    "wfp3": clean(wfp3),
    "unicef": clean(unicef),
    # Static ones by a function that takes now: they give the same.
    "sjf": lambda queue, _now: queue.requested_time,
    "largest": lambda queue, _now: -processors(queue),
}


class Greedy(bl.Allocator):
    """Fills nodes in an order."""

    def order(self, view: bl.View) -> npt.ArrayLike:
        """Put the nodes in an order."""
        return range(len(view.free))

    def allocate(self, job: bl.Job, view: bl.View) -> dict[int, int] | None:
        """Fill the nodes one after the other."""
        left = job.tasks
        nodes = {}
        for node in np.asarray(self.order(view)).tolist():
            nodes[node] = min(left, view.slots(job, node))
            left -= nodes[node]
            if left == 0:
                return nodes
        return None


def loads(view: bl.View) -> Floats:
    """Sum up what is taken of each resource, as a share, resource by resource."""
    total = np.zeros(len(view.free))
    for capacity, free in zip(view.capacity.T, view.free.T, strict=True):
        total += np.divide(capacity - free, capacity, out=np.zeros(len(total)), where=capacity > 0)
    return total


class BusiestFirst(Greedy):
    """Best fit."""

    def order(self, view: bl.View) -> npt.ArrayLike:
        """Put the busiest first."""
        return np.argsort(-loads(view), kind="stable")


class LeastBusyFirst(Greedy):
    """Worst fit."""

    def order(self, view: bl.View) -> npt.ArrayLike:
        """Put the least busy first."""
        return np.argsort(loads(view), kind="stable")


class OneByOne(Greedy):
    """First fit, answering with one node per task."""

    def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:  # type: ignore[override]  # another form
        """Name a node as often as it takes tasks."""
        nodes = super().allocate(job, view)
        return None if nodes is None else [node for node, tasks in nodes.items() for _ in range(tasks)]


ALLOCATORS: dict[str, tuple[type[bl.Allocator], ...]] = {
    "first_fit": (Greedy, OneByOne),
    "best_fit": (BusiestFirst,),
    "worst_fit": (LeastBusyFirst,),
}
