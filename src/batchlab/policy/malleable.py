"""Schedulers that resize jobs: every job has a target, and is brought there where its application lets it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from batchlab.errors import PolicyNotFound, shown, suggest
from batchlab.policy.registry import SIZE_ORDERS
from batchlab.policy.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from batchlab._kernel import Job
    from batchlab.simulation.view import View

__all__ = ["Malleable"]


@dataclass(frozen=True)
class Malleable(Scheduler):
    """Resizes jobs so that all run on few tasks before some run on many.

    Every pass gives each job, running and waiting, a target: first the least tasks that it can have, in
    order, as long as the machine suffices; then more of them, up to the most, to one after the other
    (``fcfs``, ``sjf``, ``srtf``) or to whoever has the least (``drf``, ``equipartition``). Jobs that have
    more than their target shrink at their next scheduling point; waiting jobs start, in order, each on what
    there is of its target; those that have less than their target grow. A job that asks for other tasks
    itself gets fewer always, and more if there is room for all of them.

    Parameters
    ----------
    order
        ``"fcfs"``: first come, first served. ``"sjf"``: shortest estimate first. ``"srtf"``: least estimate
        that is left by the progress of the application first. ``"drf"``: whoever holds the smallest share of
        the resource that it holds most of (dominant resource fairness). ``"equipartition"``: whoever has the
        fewest tasks.

    Raises
    ------
    PolicyNotFound
        If there is no such order.

    References
    ----------
    .. [1] T. Özden et al.: ElastiSim: A batch-system simulator for malleable workloads. ICPP 2022,
       section 6.3
    .. [2] A. Ghodsi et al.: Dominant resource fairness. NSDI 2011
    .. [3] C. McCann, R. Vaswani, J. Zahorjan: A dynamic processor allocation policy for multiprogrammed
       shared-memory multiprocessors. ACM TOCS 11(2), 1993: equipartition
    """

    every_instant: ClassVar[bool] = True
    order: str = "fcfs"

    def __post_init__(self) -> None:
        if self.order not in SIZE_ORDERS:
            known = suggest(str(self.order), SIZE_ORDERS)
            raise PolicyNotFound(f"no order of sizes named {shown(self.order)}.{known}")

    def __str__(self) -> str:
        """Write it as a policy's spec does."""
        if self.order == "equipartition":
            return "equipartition"
        return "malleable" if self.order == "fcfs" else f"malleable(order={self.order})"

    def schedule(self, view: View) -> None:
        """Shrink, start and grow."""
        _grant_requests(view)
        running = [_Wish.of(job, view) for job in view.running]
        waiting = [_Wish.of(job, view) for job in view.queue]
        self._set_targets(view, running, waiting)
        for wish in running:
            if wish.target < wish.tasks:
                view.resize(wish.job, wish.target)
        for wish in sorted(waiting, key=self._rank):
            tasks = min(wish.target, view.room(wish.job, wish.target))
            if wish.least <= tasks:
                view.start(wish.job, tasks=tasks)
        for wish in sorted(running, key=self._rank):
            if wish.target > wish.tasks:
                more = view.room(wish.job, wish.target - wish.tasks)
                if more:
                    view.resize(wish.job, wish.tasks + more)

    def _rank(self, wish: _Wish) -> tuple[float, float, int]:
        """Give a job's place: the smallest is served first."""
        key = 0.0
        if self.order == "sjf":
            key = wish.job.estimate
        elif self.order == "srtf":
            key = _remaining(wish.job)
        return key, wish.job.submit_time, wish.job.row

    def _set_targets(self, view: View, running: list[_Wish], waiting: list[_Wish]) -> None:
        """Give everybody the least, then what is left."""
        left = dict(view.total_offered)
        for wish in running:
            # Who runs cannot have less, whatever others want.
            wish.give(wish.least, left)
        present = list(running)
        for wish in sorted(waiting, key=self._rank):
            if wish.fits(wish.least, left):
                wish.give(wish.least, left)
                present.append(wish)
        if self.order in {"drf", "equipartition"}:
            _fill_evenly(present, left, self._share(view))
        else:
            for wish in sorted(present, key=self._rank):
                wish.give(wish.most_within(left), left)

    def _share(self, view: View) -> Callable[[_Wish], float]:
        """Tell by what the least is chosen."""
        if self.order == "equipartition":
            return lambda wish: float(wish.target)
        total = dict(view.total_offered)
        return lambda wish: max(
            (wish.target * amount / total[name] for name, amount in wish.per_task.items() if amount),
            default=0.0,
        )


@dataclass(slots=True)
class _Wish:
    """A job, and what it is to have."""

    job: Job
    tasks: int
    least: int
    most: int
    per_task: dict[str, int]
    target: int = field(default=0)

    @classmethod
    def of(cls, job: Job, view: View) -> _Wish:
        """Describe a job: one that keeps its size has no choice."""
        runs = job.state == "running"
        wanted = job.wanted_ranks
        # Who has just asked for tasks itself has what it asked for, or what there was.
        chooses = job.is_resizable and job.requested_tasks is None if runs else job.job_type != "rigid"
        tasks = job.tasks if wanted is None else len(wanted)
        least, most = (job.tasks_min, job.tasks_max) if chooses else (job.tasks, job.tasks)
        if runs and not chooses:
            least = most = tasks
        return cls(job, tasks if runs else 0, least, most, _per_task(job, view))

    def give(self, tasks: int, left: dict[str, int]) -> None:
        """Add to the target."""
        self.target += tasks
        for name, amount in self.per_task.items():
            left[name] -= tasks * amount

    def fits(self, tasks: int, left: dict[str, int]) -> bool:
        """Tell whether so many more tasks are left."""
        return all(tasks * amount <= left[name] for name, amount in self.per_task.items())

    def most_within(self, left: dict[str, int]) -> int:
        """Count how many more tasks it can have of what is left."""
        fitting = [left[name] // amount for name, amount in self.per_task.items() if amount]
        return max(0, min(self.most - self.target, *fitting))


def _fill_evenly(present: Iterable[_Wish], left: dict[str, int], share: Callable[[_Wish], float]) -> None:
    """Give one task after the other to whoever has the least."""
    heap = [(share(wish), wish.job.submit_time, wish.job.row, wish) for wish in present]
    heapq.heapify(heap)
    while heap:
        *_, wish = heapq.heappop(heap)
        if wish.target < wish.most and wish.fits(1, left):
            wish.give(1, left)
            heapq.heappush(heap, (share(wish), wish.job.submit_time, wish.job.row, wish))


def _per_task(job: Job, view: View) -> dict[str, int]:
    """Give what a task takes from others: where it has its node for itself, all of that."""
    if not job.exclusive:
        return job.request
    system = view.system
    per_node = max(job.tasks_per_node, 1)
    node = {name: -(-total // (system.nodes * per_node)) for name, total in system.total.items()}
    return {name: max(amount, node[name]) for name, amount in job.request.items()}


def _grant_requests(view: View) -> None:
    """Give those who ask for other tasks what they ask for, where there is room."""
    for job in view.at_scheduling_point:
        tasks = job.requested_tasks
        if tasks is not None:
            # What it was to lose at this point it has lost already.
            held = job.tasks if job.wanted_ranks is None else len(job.wanted_ranks)
            more = tasks - held
            if more <= 0 or view.room(job, more) == more:
                view.resize(job, tasks)


def _remaining(job: Job) -> float:
    done, total = job.progress or (0, 1)
    return job.estimate * (1 - done / max(total, 1))
