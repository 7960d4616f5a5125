"""Schedulers with their own decision rules: EASY as AccaSim has it, and those that resize jobs."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from batchlab.errors import PolicyNotFound, shown, suggest
from batchlab.policy.registry import SIZE_ORDERS
from batchlab.seam.components import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from batchlab._kernel import Job
    from batchlab.core.vocabulary import SizeOrderName
    from batchlab.seam.view import View

__all__ = [
    "AccasimEasy",
    "Malleable",
]


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


_SHORTEST_FIRST = frozenset({"sjf", "srtf"})
_EVENLY = frozenset({"drf", "equipartition"})
_Left = list[dict[str, int]]
"""Remaining resources of each node group, by resource name."""


@dataclass(frozen=True)
class Malleable(Scheduler):
    """Assigns a target size to every job in each pass, and resizes jobs when their applications allow.

    Under ``fcfs``, ``drf`` and ``equipartition``, every running and waiting job first gets its minimum
    number of tasks, in order, while resources last. The remaining tasks, up to the jobs' maximums, then go
    to one job after another (``fcfs``) or always to the job with the least. Under ``sjf`` and ``srtf``, one
    job after another gets as many tasks as are left, after the minimums of running jobs. Jobs above their
    targets shrink at their next scheduling point. Waiting jobs start, in order, each on the available part
    of its target. Jobs below their targets grow. If a job requests another number of tasks itself, fewer
    are always granted, and more only if all of them fit.

    If jobs name node groups, each group is shared separately. A job that may use several groups is counted
    first in those in which it runs, then in the order of the groups.

    Parameters
    ----------
    order
        ``"fcfs"``: first come, first served. ``"sjf"``: shortest estimate first. ``"srtf"``: shortest
        remaining estimate first, by the progress of the application. ``"drf"``: smallest dominant share
        first, the share of the resource of which the job holds the largest part (dominant resource
        fairness). ``"equipartition"``: fewest tasks first.

    Raises
    ------
    PolicyNotFound
        If the order is unknown.

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
        # A copy starts without memory. This costs one pass and changes no decision.
        return type(self), (self.order,)

    def __str__(self) -> str:
        """Return the spec of the policy."""
        if self.order == "equipartition":
            return "equipartition"
        return "malleable" if self.order == "fcfs" else f"malleable(order={self.order})"

    def schedule(self, view: View) -> None:
        """Shrink, start and grow jobs."""
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
        # A job that its limits keep waiting takes nothing from others.
        waiting = [wish for wish in waiting if wish.least <= wish.most]
        memory.wishes = {wish.job.row: wish for wish in (*running, *waiting)}
        present = sorted((*running, *waiting), key=self._rank)
        self._set_targets(view, present)
        # The same situation has the same actions: after a pass without actions, none follow.
        memory.settled = situation if not _act(view, running, present) else None

    def _rank(self, wish: _SizeTarget) -> tuple[float, float, int]:
        """Return the sort key of a job; the smallest is served first."""
        key = 0.0
        if self.order == "sjf":
            key = wish.job.estimate
        elif self.order == "srtf":
            key = _remaining(wish.job)
        return key, wish.submit_time, wish.row

    def _situation(self, view: View) -> tuple[int, list[int]]:
        """Return everything that targets and possible actions depend on."""
        if self.order != "srtf":
            return view.revision, []
        # Revisions do not include progress, which matters only if it changes the order of jobs.
        present = (*view.running, *view.queue)
        places = sorted((_remaining(job), job.submit_time, job.row) for job in present)
        return view.revision, [row for *_, row in places]

    def _set_targets(self, view: View, present: list[_SizeTarget]) -> None:
        """Share the machine's resources among jobs; `present` is sorted."""
        left = self._memories[view].groups.offered(view)
        for wish in present:
            # A running job keeps its minimum, whatever other jobs need.
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
        """Return the function that selects the job with the least."""
        if self.order == "equipartition":
            return lambda wish: float(wish.target)
        total = dict(view.total_available)
        return lambda wish: max(
            # A running job on drained nodes may hold a resource whose available total is 0.
            (wish.target * amount / max(total[name], 1) for name, amount in wish.per_task if amount),
            default=0.0,
        )


@dataclass(frozen=True, slots=True)
class _Groups:
    """Node groups by name, with the end of each, if jobs name groups; otherwise one group, the machine."""

    numbers: Mapping[str, int]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, view: View) -> _Groups:
        """Build the groups, after checking whether any job names a group."""
        if "node_group" not in view.columns or not any(view.columns["node_group"]):
            return cls({}, (view.system.nodes,))
        groups = view.system.groups
        ends = accumulate(group.count for group in groups)
        return cls({group.name: number for number, group in enumerate(groups)}, tuple(ends))

    def offered(self, view: View) -> list[dict[str, int]]:
        """Return the available resources of each group, by name."""
        if not self.numbers:
            return [dict(view.total_available)]
        available = view.available
        parts = (available[begin:end].sum(axis=0).tolist() for begin, end in pairwise((0, *self.ends)))
        return [dict(zip(view.resources, total, strict=True)) for total in parts]

    def usable(self, job: Job) -> tuple[int, ...]:
        """Return the numbers of the groups that a job may use."""
        names = job.node_group if self.numbers else None
        if names is None:
            return tuple(range(len(self.ends)))
        return tuple(sorted(self.numbers[name] for name in names.split("|")))

    def holds(self, job: Job) -> list[list[int]]:
        """Count the tasks of a running job in each group: pairs of number and tasks, most tasks first."""
        tasks = Counter[int]()
        for node, count in job.nodes.items():
            tasks[bisect_right(self.ends, node)] += count
        return [[number, count] for number, count in tasks.most_common()]


@dataclass(slots=True)
class _Memory:
    """Data on the jobs of a simulation, kept between passes."""

    wishes: dict[int, _SizeTarget]
    groups: _Groups
    settled: object = None

    def wish(self, job: Job, view: View) -> _SizeTarget:
        """Return the data on a job."""
        known = self.wishes.get(job.row)
        return _SizeTarget.of(job, view, self.groups) if known is None else known


@dataclass(slots=True)
class _SizeTarget:
    """A job with its present or decided number of tasks (`tasks`), and its target size (`target`).

    `usable` are the node groups that it may use. `holds` are the groups in which it runs, with the number of
    tasks there that the target does not include yet.
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
        """Collect the constant properties of a job."""
        # A rigid job that runs in a look ahead may have more tasks than it would have after a restart.
        limits = (job.tasks_min, job.tasks_max)
        per_task = tuple(_per_task(job, view).items())
        return cls(job, job.row, job.submit_time, limits, per_task, groups, groups.usable(job))

    def wait(self) -> None:
        """Set the limits of a waiting job."""
        self.runs = False
        self.holds = []
        self.tasks = 0
        self.least, self.most = self.limits

    def look(self) -> None:
        """Set the limits of a running job; a job that cannot be resized keeps its size."""
        job = self.job
        wanted = job.pending_ranks
        self.runs = True
        self.holds = self.groups.holds(job) if len(self.usable) > 1 else []
        self.tasks = job.tasks if wanted is None else len(wanted)
        # A job that has just requested tasks got them, or as many as were available.
        chooses = job.is_resizable and job.requested_tasks is None
        self.least, self.most = self.limits if chooses else (self.tasks, self.tasks)

    def give(self, tasks: int, left: _Left) -> None:
        """Increase the target: first in groups where the job runs, then in the first groups with room."""
        self.target += tasks
        for place in self.holds:
            counted = min(tasks, place[1])
            place[1] -= counted
            tasks -= self._take(counted, left[place[0]])
        if len(self.usable) > 1:
            for number in self.usable:
                tasks -= self._take(min(tasks, self._fitting(left[number])), left[number])
        # A running job keeps its resources, even on drained nodes.
        self._take(tasks, left[self.usable[0]])

    def _take(self, tasks: int, left: dict[str, int]) -> int:
        for name, amount in self.per_task:
            left[name] -= tasks * amount
        return tasks

    def _fitting(self, left: dict[str, int]) -> int:
        """Count the tasks that fit in the remaining resources of a group."""
        fitting = [left[name] // amount for name, amount in self.per_task if amount]
        return max(0, min(fitting, default=self.most))

    def gets_least(self, left: _Left) -> bool:
        """Assign the minimum to a waiting job if it fits; return whether the job has a target."""
        if self.runs:
            return True
        fits = self.fits(self.least, left)
        if fits:
            self.give(self.least, left)
        return fits

    def fits(self, tasks: int, left: _Left) -> bool:
        """Return whether this number of further tasks fits."""
        return tasks <= self._left(left)

    def most_within(self, left: _Left) -> int:
        """Count the further tasks that fit in the remaining resources."""
        return max(0, min(self.most - self.target, self._left(left)))

    def _left(self, left: _Left) -> int:
        return sum(self._fitting(left[number]) for number in self.usable)


def _act(view: View, running: list[_SizeTarget], present: list[_SizeTarget]) -> bool:
    """Shrink running jobs, start waiting jobs, let running jobs grow; return whether it tried any."""
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
    """Return the largest start size up to `tasks` within the limits; below the job's minimum if none."""
    if view.over_limit(wish.job, tasks) is None:
        return tasks
    sizes = range(wish.least, tasks)
    return (
        wish.least
        + bisect_left(sizes, True, key=lambda size: view.over_limit(wish.job, size) is not None)
        - 1
    )


def _fill_evenly(present: Iterable[_SizeTarget], left: _Left, share: Callable[[_SizeTarget], float]) -> None:
    """Repeatedly assign one task to the job with the least."""
    heap = [(share(wish), wish.job.submit_time, wish.job.row, wish) for wish in present]
    heapq.heapify(heap)
    while heap:
        *_, wish = heapq.heappop(heap)
        if wish.target < wish.most and wish.fits(1, left):
            wish.give(1, left)
            heapq.heappush(heap, (share(wish), wish.job.submit_time, wish.job.row, wish))


def _per_task(job: Job, view: View) -> dict[str, int]:
    """Return the resources that a task takes; for exclusive jobs, its part of the whole node."""
    if not job.exclusive:
        return job.request
    system = view.system
    node = {name: -(-total // system.nodes) for name, total in system.total.items()}
    most = min((node[name] // amount for name, amount in job.request.items() if amount), default=1)
    per_node = max(min(most, job.tasks_per_node or most), 1)
    return {name: max(amount, -(-node[name] // per_node)) for name, amount in job.request.items()}


def _grant_requests(view: View) -> bool:
    """Grant the resize requests of jobs, if the tasks fit; return whether any job has a request."""
    asked = False
    for job in view.at_scheduling_point:
        tasks = job.requested_tasks
        if tasks is not None:
            asked = True
            # Tasks to be removed at this point are removed already.
            held = job.tasks if job.pending_ranks is None else len(job.pending_ranks)
            more = tasks - held
            if more <= 0 or view.max_additional_tasks(job, more) == more:
                view.resize(job, tasks)
    return asked


def _remaining(job: Job) -> float:
    done, total = job.progress or (0, 1)
    return job.estimate * (1 - done / max(total, 1))
