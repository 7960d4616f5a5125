"""Whole runs under Slurm's controller in plain Python: both threads wake at each of their times (S25)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, inf

from batchlab.slurm import Allotment, Entry, Held, ReservedNodes, Situation
from reference.slurm import Verdict, Waiting, begun, main_begun, suitable_of
from reference.slurm_selection import Machine, Weights, evaluate

__all__ = ["KEYS", "Controller", "DrainedNode", "Kept", "Place", "Requeue", "Rules", "SlurmJob", "run"]

Place = tuple[float, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class SlurmJob:
    """A job; `cpus`, `memory` and `gpus` are those of a task, `partitions` are tried in order.

    Where it asks for features, `bound` are the nodes that have them.
    """

    row: int
    submit_time: float
    run_time: float
    requested_time: float
    tasks: int
    partitions: tuple[int, ...]
    cpus: int = 1
    memory: int = 0
    gpus: int = 0
    bound: frozenset[int] | None = None
    tasks_per_node: int = 0
    exclusive: bool = False
    quality: int = 0
    user: int | None = 0
    account: str | None = None
    nice: int = 0
    array: int | None = None
    reservation: int | None = None

    @property
    def limit(self) -> float:
        return 60.0 * max(ceil(self.requested_time / 60), 1)


@dataclass(frozen=True)
class DrainedNode:
    """A node takes no job from a time to another."""

    node: int
    begin: float
    end: float


@dataclass(frozen=True)
class Requeue:
    """A job that holds nodes gives them up at a time, and waits again; one whose run is over ends."""

    row: int
    time: float


@dataclass(frozen=True)
class Kept:
    """Nodes that a reservation keeps from a time to another."""

    nodes: frozenset[int]
    begin: float
    end: float


@dataclass(frozen=True)
class Rules:
    """What jobs may hold, by quality of service, and what becomes of those that are preempted.

    Limits are on the nodes of all jobs of a quality, on those of each user in it, and on his jobs.
    """

    nodes: dict[int, int] = field(default_factory=dict)
    nodes_of_user: dict[int, int] = field(default_factory=dict)
    jobs_of_user: dict[int, int] = field(default_factory=dict)
    cancels: bool = False
    exempt_time: float = 0.0


@dataclass(frozen=True)
class Controller:
    """When calls are made, and how many entries they look at."""

    backfill: bool = True
    epilog: bool = False
    defer: bool = False
    batch_sched_delay: int = 3
    sched_interval: int = 60
    sched_min_interval: int = 2
    default_queue_depth: int = 100
    bf_interval: int = 30
    main_lag: float = 0.0
    bf_test_time: float = 0.0
    over_time_limit: int = 0
    kill_wait: int = 30
    message_timeout: int = 10
    requeue_delay: int = 121
    main_phase: float = 0.0
    backfill_phase: float = 0.0
    limit_phase: float = 0.0


KEYS: dict[str, Callable[[SlurmJob, float, float], float]] = {
    "fcfs": lambda _job, _now, _factor: 0.0,
    "sjf": lambda job, _now, _factor: job.requested_time,
    'expression("30 * tasks - wait_time * tasks")': lambda job, now, _factor: (
        30 * job.tasks - (now - job.submit_time) * job.tasks
    ),
    "multifactor(partition=1000)": lambda job, _now, factor: -floor(1000.0 * factor - job.nice),
}
"""The keys of orders in a partition with a factor; that of the expression changes with time."""


@dataclass
class Run:
    """A run under way. Of a job that holds nodes: its start, what it has, and when its run is over."""

    machine: Machine
    controller: Controller
    jobs: Sequence[SlurmJob]
    drained: Sequence[DrainedNode]
    requeues: Sequence[Requeue]
    launch: float
    completion: float
    order: str
    rules: Rules
    reservations: Sequence[Kept]
    now: float = 0.0
    queue: list[SlurmJob] = field(default_factory=list)
    holding: dict[SlurmJob, tuple[float, list[Allotment], float]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    changed: float = -inf
    is_wanted: bool = False
    main_latest: float = -inf
    call_latest: float = -inf
    late_call: bool | None = None
    full_latest: float = -inf
    backfill_latest: float = -inf
    weights: Weights = field(default_factory=list)
    first_victims: dict[SlurmJob, float] = field(default_factory=dict)
    again: dict[SlurmJob, float] = field(default_factory=dict)
    eligible: dict[SlurmJob, float] = field(default_factory=dict)
    gone: list[SlurmJob] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights = self.machine.weights()

    def whole(self, job: SlurmJob) -> bool:
        return self.machine.select == "linear" or job.exclusive

    def tasks_of_node(self, job: SlurmJob, partition: int) -> int:
        return max((self.slots(job, node) for node in self.bound(job, partition)), default=0) or 1

    def bound(self, job: SlurmJob, partition: int) -> frozenset[int]:
        nodes = self.machine.partitions[partition][0]
        return nodes if job.bound is None else nodes & job.bound

    def slots(self, job: SlurmJob, node: int) -> int:
        """Give how many tasks an idle node takes."""
        asked = job.cpus, job.memory, job.gpus
        most = min(
            left // amount for left, amount in zip(self.machine.nodes[node], asked, strict=False) if amount
        )
        return min(most, job.tasks_per_node or most)

    def suitable(self, job: SlurmJob, partition: int) -> list[int]:
        """Give the nodes with a job's features that take some of its tasks, where it takes them whole."""
        nodes = self.bound(job, partition)
        return [node for node in nodes if not self.whole(job) or self.slots(job, node)]

    def waiting(self) -> list[tuple[SlurmJob, int]]:
        """Give the entries that a call looks at, each a job and one of its partitions, in order."""
        may_start = [
            (job, partition)
            for job in self.queue
            if self.is_in_time(job) and self.again.get(job, self.now) <= self.now
            for partition in job.partitions
        ]
        precedence, ordered = self.machine.precedence, list[tuple[SlurmJob, int]]()
        for entry in sorted(may_start, key=self.rank):
            below = precedence.preempts[entry[0].quality] if precedence else ()
            place = next((at for at, other in enumerate(ordered) if other[0].quality in below), len(ordered))
            ordered.insert(place, entry)
        return sorted(ordered, key=lambda entry: entry[0].reservation is None)

    def rank(self, entry: tuple[SlurmJob, int]) -> tuple[float, ...]:
        """Give the place of an entry: the tier of its partition, its priority there, and when it came."""
        job, partition = entry
        tier = self.machine.tiers[partition] if self.machine.tiers else 1
        return -tier, self.key(job, partition), job.submit_time, job.row

    def key(self, job: SlurmJob, partition: int) -> float:
        factor = self.machine.factors[partition] / max(self.machine.factors) if self.machine.factors else 1.0
        return KEYS[self.order](job, self.now, factor)

    def waiting_of(self, job: SlurmJob, partition: int) -> Waiting:
        association = None if (job.user, job.account) == (None, None) else (job.user, job.account)
        return Waiting(job.user, association, job.array, -self.key(job, partition), floor(self.eligible[job]))

    def is_in_time(self, job: SlurmJob) -> bool:
        if job.reservation is None:
            return True
        own = self.reservations[job.reservation]
        return own.begin <= self.now < own.end and self.now + job.requested_time <= own.end

    def counters(self, job: SlurmJob) -> tuple[int, ...]:
        """Give numbers of the limits on nodes that count a job."""
        own = (job.quality,) if job.quality in self.rules.nodes else ()
        by_user = (
            (100 + 10 * job.quality + (job.user or 0),) if job.quality in self.rules.nodes_of_user else ()
        )
        return own + by_user

    def limits(self, job: SlurmJob) -> tuple[bool, bool]:
        """Tell whether a job is within its limits, and else whether it is evaluated all the same."""
        rules, alike = self.rules, [other for other in self.holding if other.quality == job.quality]
        mine = [other for other in alike if other.user == job.user]

        def nodes_with(jobs: list[SlurmJob]) -> int:
            return sum(len(self.holding[other][1]) for other in jobs) + self.least_nodes(job)

        if nodes_with(alike) > rules.nodes.get(job.quality, 10**6):
            return False, True
        if nodes_with(mine) > rules.nodes_of_user.get(job.quality, 10**6):
            return False, True
        return len(mine) < rules.jobs_of_user.get(job.quality, 10**6), False

    def entry(self, job: SlurmJob, partition: int) -> Entry:
        per_node = 0 if self.whole(job) else min(job.tasks_per_node, job.tasks)
        nodes = 0
        if self.whole(job):
            nodes = ceil(job.tasks / self.tasks_of_node(job, partition))
        elif per_node:
            nodes = ceil(job.tasks / per_node)
        is_open, is_evaluated = self.limits(job)
        # Whole seconds, as the controller's clock shows them.
        first = floor(self.first_victims.get(job, -1e9))
        notice = self.controller.kill_wait + self.controller.message_timeout
        return Entry(
            job.row,
            job.limit,
            partition,
            is_open=is_open,
            is_evaluated=is_evaluated,
            preemption_class=job.quality,
            may_preempt=first <= floor(self.now) - notice,
            counted_in=self.counters(job),
            reservation=job.reservation,
            nodes=nodes,
            tasks=job.tasks,
            cpus_per_task=job.cpus,
            tasks_per_node=per_node,
            memory=job.memory // job.cpus,
            memory_is_per_cpu=True,
            generic=(job.gpus,) if len(self.machine.nodes[0]) > 2 else (),
            generic_is_per_task=True,
            suitable=self.suitable(job, partition),
            exclusive=job.exclusive,
        )

    def least_nodes(self, job: SlurmJob) -> int:
        """Give the fewest nodes that a job can run on."""
        return ceil(job.tasks / max(self.tasks_of_node(job, partition) for partition in job.partitions))

    def situation(self, queue: list[Entry]) -> Situation:
        running, completing = list[Held](), list[Held]()
        for job, (start, parts, over) in self.holding.items():
            group = running if over > self.now else completing
            may_be_preempted = start < self.now and start + self.rules.exempt_time <= self.now
            group.append(
                Held(
                    job.row,
                    floor(start) + job.limit,
                    parts,
                    preemption_class=job.quality,
                    started=start,
                    may_be_preempted=may_be_preempted,
                    counted_in=self.counters(job),
                )
            )
        away = {each.node for each in self.drained if each.begin <= self.now < each.end}
        available = [node for node in range(len(self.machine.nodes)) if node not in away]
        fraction = self.now - floor(self.now)
        kept = [
            ReservedNodes([*each.nodes], each.begin - fraction, each.end - fraction)
            for each in self.reservations
        ]
        return Situation(floor(self.now), available, running, completing, queue, kept)

    def next_late_call(self) -> float:
        """Give when the call that is put off is made."""
        return inf if self.late_call is None else self.call_latest + self.controller.sched_min_interval / 1e6

    def make_late_call(self) -> None:
        """Make the call that was put off until now, if there is one."""
        if self.now == self.next_late_call():
            is_full, self.late_call = bool(self.late_call), None
            self.main(is_full=is_full)

    def ask_main(self, *, is_full: bool) -> None:
        """Make a call of the main loop, unless it comes too soon after the latest."""
        interval = self.controller.sched_min_interval / 1e6
        if interval >= 0.01 and (self.late_call is not None or self.now < self.call_latest + interval):
            self.late_call = is_full or bool(self.late_call)
        else:
            self.main(is_full=is_full)

    def main(self, *, is_full: bool) -> None:
        self.call_latest = self.now
        queue = self.waiting()
        queue = queue if is_full else queue[: self.controller.default_queue_depth + 1]
        call = main_begun(self.machine, self.situation([]), self.weights)
        for job, partition in queue:
            entry = self.entry(job, partition)
            verdict = call.consider(entry)
            self.take(job, entry, verdict)
            if entry.is_open and verdict[0] == "waits":
                self.change()

    def make_cycle(self) -> float:
        """Give when the cycle ends."""
        queue = self.waiting()
        call = begun(self.machine, self.situation([]), self.weights)
        verdicts = list[str]()
        for job, partition in queue:
            entry = self.entry(job, partition)
            verdict = call.consider(entry, self.waiting_of(job, partition))
            self.take(job, entry, verdict)
            verdicts.append(verdict[0])
        end = self.now + call.tested * self.controller.bf_test_time
        self.backfill_latest = floor(end)
        if {"started", "preempts"} & {*verdicts}:
            self.change()
        if call.puts_off:
            self.change()
        return end

    def change(self) -> None:
        """Take note of a change that makes backfill work; one during a cycle waits for its end."""
        self.changed = max(floor(self.now), self.backfill_latest)

    def take(self, job: SlurmJob, entry: Entry, verdict: Verdict) -> None:
        kind, _, parts, victims = verdict
        if kind == "preempts":
            by_row = {each.row: each for each in self.jobs}
            self.preempt(job, [by_row[row] for row in victims])
        if kind == "started":
            self.start(job, entry, parts)

    def start(self, job: SlurmJob, entry: Entry, parts: list[Allotment]) -> None:
        left = job.tasks
        spread = list[tuple[int, int]]()
        for part in parts:
            of_node = self.tasks_of_node(job, entry.partition) if self.whole(job) else part.cpus // job.cpus
            tasks = min(of_node, left)
            left -= tasks
            spread.append((part.node, tasks))
        self.queue.remove(job)
        self.first_victims.pop(job, None)
        self.again.pop(job, None)
        self.holding[job] = self.now, parts, self.end_of_run(job)
        self.places[job.row] = self.now, tuple(spread)
        self.change()

    def end_of_run(self, job: SlurmJob) -> float:
        """Give when the run of a job that starts now is over: done, or ended at a look at the limits."""
        begin = self.now + self.launch
        look = self.controller.limit_phase
        while look < floor(self.now) + job.limit + self.controller.over_time_limit:
            look += 30
        return min(begin + job.run_time, max(look, begin))

    def preempt(self, job: SlurmJob, victims: list[SlurmJob]) -> None:
        """Take victims from their nodes; they wait again, or end, when the calls of this instant are over."""
        self.first_victims.setdefault(job, self.now)
        self.change()
        for victim in victims:
            del self.holding[victim]
            self.gone.append(victim)
            if not self.rules.cancels:
                self.put_off(victim)

    def put_off(self, job: SlurmJob) -> None:
        """Let a job wait again that has lost its nodes; it may not start at once."""
        del self.places[job.row]
        self.again[job] = self.eligible[job] = self.now + self.controller.requeue_delay

    def dismiss(self) -> bool:
        """Let victims wait again, whose epilog calls the main loop; whether there are any."""
        gone, self.gone = self.gone, []
        if gone:
            self.queue += [] if self.rules.cancels else gone
            self.change()
            self.is_wanted = True
            if self.calls_at_once():
                self.ask_main(is_full=False)
        return bool(gone)

    def calls_at_once(self) -> bool:
        """Tell whether nodes that come free call the main loop themselves."""
        return self.controller.epilog and not self.controller.defer

    def take_events(self) -> bool:
        """Take what happens now; whether nodes were released."""
        arrived = [job for job in self.jobs if job.submit_time == self.now]
        requeued, ended = self.take_requeues()
        turned = bool(requeued) or any(self.now in (each.begin, each.end) for each in self.drained)
        over = any(over == self.now for _, _, over in self.holding.values())
        gone = [job for job, (_, _, over) in self.holding.items() if over + self.completion == self.now]
        for job in gone:
            del self.holding[job]
        gone += ended
        self.queue += [*arrived, *requeued]
        for job in arrived:
            self.eligible[job] = self.now
            self.evaluate(job)
        turns = any(self.now in (each.begin, each.end) for each in self.reservations)
        turned |= turns and bool(self.queue)
        if arrived or turned or over or gone:
            self.change()
        self.is_wanted |= bool(arrived) or turned or (bool(gone) and not self.calls_at_once())
        return bool(gone)

    def take_requeues(self) -> tuple[list[SlurmJob], list[SlurmJob]]:
        """Take jobs from their nodes; give those that wait again, and those that had only to leave."""
        rows = {each.row for each in self.requeues if each.time == self.now}
        taken = [(job, over) for job, (_, _, over) in self.holding.items() if job.row in rows]
        again = [job for job, over in taken if over >= self.now]
        for job, _ in taken:
            del self.holding[job]
        for job in again:
            self.put_off(job)
        return again, [job for job, over in taken if over < self.now]

    def evaluate(self, job: SlurmJob) -> None:
        """Let nodes have the weights of a job that is submitted."""
        running = self.situation([]).running
        for partition in job.partitions if job.reservation is None else ():
            entry, nodes = self.entry(job, partition), self.machine.partitions[partition][0]
            evaluate(self.machine, running, entry, suitable_of(entry, nodes), self.weights)

    def wake_main(self) -> None:
        rules, second = self.controller, floor(self.now)
        is_full = second - self.full_latest >= rules.sched_interval
        if is_full or (self.is_wanted and second - self.main_latest >= rules.batch_sched_delay):
            self.ask_main(is_full=is_full)
            self.main_latest, self.is_wanted = second, False
            self.full_latest = second if is_full else self.full_latest

    def wake_backfill(self) -> float:
        """Give when the thread wakes next."""
        if self.changed > -inf and self.changed >= self.backfill_latest:
            return self.make_cycle() + self.controller.bf_interval
        return self.now + 1

    def next_event(self) -> float:
        times = [job.submit_time for job in self.jobs]
        times += [time for each in self.drained for time in (each.begin, each.end)]
        times += [each.time for each in self.requeues]
        times += [time for each in self.reservations for time in (each.begin, each.end)]
        times += [time for _, _, over in self.holding.values() for time in (over, over + self.completion)]
        return min((time for time in times if time > self.now), default=inf)


def run(
    machine: Machine,
    controller: Controller,
    jobs: Sequence[SlurmJob],
    drained: Sequence[DrainedNode] = (),
    *,
    requeues: Sequence[Requeue] = (),
    launch: float = 0.0,
    completion: float = 0.0,
    order: str = "fcfs",
    rules: Rules | None = None,
    reservations: Sequence[Kept] = (),
) -> dict[int, Place]:
    """Give when and where each job starts, with how many tasks on each node; some jobs never start."""
    state = Run(
        machine,
        controller,
        jobs,
        drained,
        requeues,
        launch,
        completion,
        order,
        rules or Rules(),
        reservations,
    )
    interval, period = controller.sched_interval, 1 + controller.main_lag
    first = min([job.submit_time for job in jobs] + [each.begin for each in drained])
    origin = controller.main_phase + floor(first / interval) * interval
    state.main_latest = state.full_latest = floor(origin) - interval
    number, state.now = -interval, first - 1.0
    backfill = ceil(first - controller.backfill_phase) + controller.backfill_phase
    # Where nothing happens for so long, nothing is left to happen.
    idle, quiet = 0.0, 3.0 * (interval + controller.bf_interval) + controller.batch_sched_delay
    quiet += controller.requeue_delay + controller.sched_min_interval / 1e6
    while True:
        event, main = state.next_event(), origin + number * period
        state.now = min(event, main, backfill, state.next_late_call())
        if event == inf and not state.queue and not state.holding:
            return state.places
        if event < inf or state.holding:
            idle = state.now
        elif state.now > idle + quiet:
            return state.places
        if state.now == event and state.take_events() and state.calls_at_once():
            state.ask_main(is_full=False)
        if state.now == main:
            state.wake_main()
            number += 1
        state.make_late_call()
        if state.now == backfill:
            backfill = state.wake_backfill() if controller.backfill else inf
        while state.dismiss():
            # A thread that wakes at this instant and has not called sees the nodes that victims have left.
            if state.now == main and state.main_latest < floor(main):
                state.wake_main()
