"""Schedulers that resize jobs: every job has a target, and is brought there where its application lets it."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from batchlab.errors import PolicyNotFound, shown, suggest
from batchlab.policy.registry import SIZE_ORDERS
from batchlab.seam.components import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from batchlab._kernel import Job
    from batchlab.seam.view import View
    from batchlab.vocabulary import SizeOrderName

__all__ = ["Malleable"]

_SHORTEST_FIRST = frozenset({"sjf", "srtf"})
_EVENLY = frozenset({"drf", "equipartition"})

_Left = list[dict[str, int]]
"""What is left to share out, by resource, of each node group."""


@dataclass(frozen=True)
class Malleable(Scheduler):
    """Gives every job a target at each pass, and brings it there where its application lets it.

    Under ``fcfs``, ``drf`` and ``equipartition`` each job, running and waiting, first gets the least tasks
    that it can have, in order, as long as the machine suffices; then more of them, up to the most, go to one
    after the other (``fcfs``) or to the one with the least. Under ``sjf`` and ``srtf`` one job after another
    gets the most that is left, once those that run are sure of the least. Jobs that have more than their
    target shrink at their next scheduling point; waiting jobs start, in order, each on what there is of its
    target; those that have less than their target grow. A job that asks for other tasks itself gets fewer
    always, and more if there is room for all of them.

    Where jobs name node groups, each group is shared out by itself. A job that may use several of them is
    counted first in those where it runs, then in the order of the groups.

    Parameters
    ----------
    order
        ``"fcfs"``: first come, first served. ``"sjf"``: shortest estimate first. ``"srtf"``: least estimate
        that is left by the progress of the application first. ``"drf"``: the one with the smallest share of
        the resource that it holds most of (dominant resource fairness). ``"equipartition"``: the one with the
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
    order: SizeOrderName = "fcfs"
    _memories: WeakKeyDictionary[View, _Memory] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.order not in SIZE_ORDERS:
            known = suggest(str(self.order), SIZE_ORDERS)
            raise PolicyNotFound(f"no order of sizes named {shown(self.order)}.{known}")

    def __reduce__(self) -> tuple[object, ...]:
        # A copy remembers nothing, which costs it a pass, and changes no decision.
        return type(self), (self.order,)

    def __str__(self) -> str:
        """Write it as a policy's spec does."""
        if self.order == "equipartition":
            return "equipartition"
        return "malleable" if self.order == "fcfs" else f"malleable(order={self.order})"

    def schedule(self, view: View) -> None:
        """Shrink, start and grow."""
        asked = _grant_requests(view)
        memory = self._memories.get(view)
        if memory is None:
            memory = self._memories[view] = _Memory({}, _Groups.of(view))
        situation = None if asked else self._situation(view)
        if situation is not None and situation == memory.settled:
            return
        running = [memory.wish(job, view) for job in view.running]
        for wish in running:
            wish.look()
        waiting = [memory.wish(job, view) for job in view.queue]
        for wish in waiting:
            wish.wait()
            wish.most = _within_limits(view, wish, wish.most)
        # What cannot start for its limits takes nothing from the others.
        waiting = [wish for wish in waiting if wish.least <= wish.most]
        memory.wishes = {wish.job.row: wish for wish in (*running, *waiting)}
        present = sorted((*running, *waiting), key=self._rank)
        self._set_targets(view, present)
        # What a pass does follows from the situation: where it was nothing, it will be so again.
        memory.settled = situation if not _act(view, running, present) else None

    def _rank(self, wish: _SizeTarget) -> tuple[float, float, int]:
        """Give a job's place: the smallest is served first."""
        key = 0.0
        if self.order == "sjf":
            key = wish.job.estimate
        elif self.order == "srtf":
            key = _remaining(wish.job)
        return key, wish.submit_time, wish.row

    def _situation(self, view: View) -> tuple[int, list[int]]:
        """Return all that the targets, and what can be done about them, depend on."""
        if self.order != "srtf":
            return view.revision, []
        # Progress is in no revision; it counts only if it moves a job before another.
        present = (*view.running, *view.queue)
        places = sorted((_remaining(job), job.submit_time, job.row) for job in present)
        return view.revision, [row for *_, row in places]

    def _set_targets(self, view: View, present: list[_SizeTarget]) -> None:
        """Share out what the machine offers; `present` is in order."""
        left = self._memories[view].groups.offered(view)
        for wish in present:
            # A job that runs cannot have less, whatever others want.
            wish.target = 0
            if wish.runs:
                wish.give(wish.least, left)
        if self.order in _SHORTEST_FIRST:
            for wish in present:
                if wish.gets_least(left):
                    wish.give(wish.most_within(left), left)
            return
        served = [wish for wish in present if wish.gets_least(left)]
        if self.order in _EVENLY:
            _fill_evenly(served, left, self._share(view))
        else:
            for wish in served:
                wish.give(wish.most_within(left), left)

    def _share(self, view: View) -> Callable[[_SizeTarget], float]:
        """Tell by what the least is chosen."""
        if self.order == "equipartition":
            return lambda wish: float(wish.target)
        total = dict(view.total_available)
        return lambda wish: max(
            # A job that runs on nodes that are closed may hold of what is not on offer at all.
            (wish.target * amount / max(total[name], 1) for name, amount in wish.per_task if amount),
            default=0.0,
        )


@dataclass(frozen=True, slots=True)
class _Groups:
    """The node groups by name, where jobs name some, and where each ends; else one group, the machine."""

    numbers: Mapping[str, int]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, view: View) -> _Groups:
        """Find out whether any job names a group."""
        if "node_group" not in view.columns or not any(view.columns["node_group"]):
            return cls({}, (view.system.nodes,))
        groups = view.system.groups
        ends = accumulate(group.count for group in groups)
        return cls({group.name: number for number, group in enumerate(groups)}, tuple(ends))

    def offered(self, view: View) -> list[dict[str, int]]:
        """Give what the nodes of each group offer, by resource."""
        if not self.numbers:
            return [dict(view.total_available)]
        available = view.available
        parts = (available[begin:end].sum(axis=0).tolist() for begin, end in pairwise((0, *self.ends)))
        return [dict(zip(view.resources, total, strict=True)) for total in parts]

    def usable(self, job: Job) -> tuple[int, ...]:
        """Give the numbers of the groups that a job may use."""
        names = job.node_group if self.numbers else None
        if names is None:
            return tuple(range(len(self.ends)))
        return tuple(sorted(self.numbers[name] for name in names.split("|")))

    def holds(self, job: Job) -> list[list[int]]:
        """Count the tasks that a running job has in each group: numbers and tasks, most tasks first."""
        tasks = Counter[int]()
        for node, count in job.nodes.items():
            tasks[bisect_right(self.ends, node)] += count
        return [[number, count] for number, count in tasks.most_common()]


@dataclass(slots=True)
class _Memory:
    """What is known of a simulation from one pass to the next."""

    wishes: dict[int, _SizeTarget]
    groups: _Groups
    settled: object = None

    def wish(self, job: Job, view: View) -> _SizeTarget:
        """Give what is known of a job."""
        known = self.wishes.get(job.row)
        return _SizeTarget.of(job, view, self.groups) if known is None else known


@dataclass(slots=True)
class _SizeTarget:
    """A job, and what it is to have: `tasks` now or as decided, `target` once that can be.

    `usable` are the node groups that it may use; `holds` are those in which it runs, with the tasks there
    that its target does not count yet.
    """

    job: Job
    row: int
    submit_time: float
    limits: tuple[int, int]
    per_task: tuple[tuple[str, int], ...]
    groups: _Groups
    usable: tuple[int, ...]
    holds: list[list[int]] = field(default_factory=list)
    runs: bool = False
    tasks: int = 0
    least: int = 0
    most: int = 0
    target: int = 0

    @classmethod
    def of(cls, job: Job, view: View, groups: _Groups) -> _SizeTarget:
        """Gather what stays as it is."""
        # A rigid job that runs in a look ahead may have more tasks than it starts again on.
        limits = (job.tasks_min, job.tasks_max)
        per_task = tuple(_per_task(job, view).items())
        return cls(job, job.row, job.submit_time, limits, per_task, groups, groups.usable(job))

    def wait(self) -> None:
        """Describe it while it waits."""
        self.runs = False
        self.holds = []
        self.tasks = 0
        self.least, self.most = self.limits

    def look(self) -> None:
        """Describe it while it runs: one that keeps its size has no choice."""
        job = self.job
        wanted = job.pending_ranks
        self.runs = True
        self.holds = self.groups.holds(job) if len(self.usable) > 1 else []
        self.tasks = job.tasks if wanted is None else len(wanted)
        # A job that has just asked for tasks itself has what it asked for, or what there was.
        chooses = job.is_resizable and job.requested_tasks is None
        self.least, self.most = self.limits if chooses else (self.tasks, self.tasks)

    def give(self, tasks: int, left: _Left) -> None:
        """Add to the target: first where it runs, then in the first groups where tasks fit."""
        self.target += tasks
        for place in self.holds:
            counted = min(tasks, place[1])
            place[1] -= counted
            tasks -= self._take(counted, left[place[0]])
        if len(self.usable) > 1:
            for number in self.usable:
                tasks -= self._take(min(tasks, self._fitting(left[number])), left[number])
        # A job that runs has what it has, whether that is on offer or not.
        self._take(tasks, left[self.usable[0]])

    def _take(self, tasks: int, left: dict[str, int]) -> int:
        for name, amount in self.per_task:
            left[name] -= tasks * amount
        return tasks

    def _fitting(self, left: dict[str, int]) -> int:
        """Count the tasks that fit in what is left of a group."""
        fitting = [left[name] // amount for name, amount in self.per_task if amount]
        return max(0, min(fitting, default=self.most))

    def gets_least(self, left: _Left) -> bool:
        """Give a waiting job the least; tell whether it has a target."""
        if self.runs:
            return True
        fits = self.fits(self.least, left)
        if fits:
            self.give(self.least, left)
        return fits

    def fits(self, tasks: int, left: _Left) -> bool:
        """Tell whether so many more tasks are left."""
        return tasks <= self._left(left)

    def most_within(self, left: _Left) -> int:
        """Count how many more tasks it can have of what is left."""
        return max(0, min(self.most - self.target, self._left(left)))

    def _left(self, left: _Left) -> int:
        return sum(self._fitting(left[number]) for number in self.usable)


def _act(view: View, running: list[_SizeTarget], present: list[_SizeTarget]) -> bool:
    """Shrink those that run, start those that wait, let those that run grow; tell whether it tried."""
    tried = False
    for wish in running:
        if wish.target < wish.tasks:
            view.resize(wish.job, wish.target)
            tried = True
    for wish in present:
        if wish.target and not wish.runs:
            tasks = min(wish.target, view.max_additional_tasks(wish.job, wish.target))
            tasks = _within_limits(view, wish, tasks)
            if wish.least <= tasks:
                view.start(wish.job, tasks=tasks)
                tried = True
    for wish in present:
        if wish.runs and wish.target > wish.tasks:
            more = view.max_additional_tasks(wish.job, wish.target - wish.tasks)
            if more:
                view.resize(wish.job, wish.tasks + more)
                tried = True
    return tried


def _within_limits(view: View, wish: _SizeTarget, tasks: int) -> int:
    """Give the most tasks, up to so many, on which a waiting job may start; else fewer than its least."""
    if view.over_limit(wish.job, tasks) is None:
        return tasks
    sizes = range(wish.least, tasks)
    return (
        wish.least
        + bisect_left(sizes, True, key=lambda size: view.over_limit(wish.job, size) is not None)
        - 1
    )


def _fill_evenly(present: Iterable[_SizeTarget], left: _Left, share: Callable[[_SizeTarget], float]) -> None:
    """Give one task after the other to the job that has the least."""
    heap = [(share(wish), wish.job.submit_time, wish.job.row, wish) for wish in present]
    heapq.heapify(heap)
    while heap:
        *_, wish = heapq.heappop(heap)
        if wish.target < wish.most and wish.fits(1, left):
            wish.give(1, left)
            heapq.heappush(heap, (share(wish), wish.job.submit_time, wish.job.row, wish))


def _per_task(job: Job, view: View) -> dict[str, int]:
    """Give what a task takes from others: of nodes that are for the job alone, its part of all of them."""
    if not job.exclusive:
        return job.request
    system = view.system
    node = {name: -(-total // system.nodes) for name, total in system.total.items()}
    most = min((node[name] // amount for name, amount in job.request.items() if amount), default=1)
    per_node = max(min(most, job.tasks_per_node or most), 1)
    return {name: max(amount, -(-node[name] // per_node)) for name, amount in job.request.items()}


def _grant_requests(view: View) -> bool:
    """Give jobs that ask for other tasks theirs, where there is room; say whether any asks."""
    asked = False
    for job in view.at_scheduling_point:
        tasks = job.requested_tasks
        if tasks is not None:
            asked = True
            # What it was to lose at this point it has lost already.
            held = job.tasks if job.pending_ranks is None else len(job.pending_ranks)
            more = tasks - held
            if more <= 0 or view.max_additional_tasks(job, more) == more:
                view.resize(job, tasks)
    return asked


def _remaining(job: Job) -> float:
    done, total = job.progress or (0, 1)
    return job.estimate * (1 - done / max(total, 1))
