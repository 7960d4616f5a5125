"""Whole runs under Slurm's controller in plain Python: both threads wake at each of their times (S25)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, inf

from batchlab.slurm import Allotment, Entry, Held, Situation
from reference.slurm import Machine, Verdict, Weights, begun, main_loop

__all__ = ["KEYS", "Controller", "DrainedNode", "Place", "SlurmJob", "run"]

Place = tuple[float, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class SlurmJob:
    """A job; `cpus` and `memory` are those of a task, `partitions` are tried in order."""

    row: int
    submit_time: float
    run_time: float
    requested_time: float
    tasks: int
    partitions: tuple[int, ...]
    cpus: int = 1
    memory: int = 0
    tasks_per_node: int = 0
    exclusive: bool = False

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
class Controller:
    """When calls are made, and how many entries they look at."""

    backfill: bool = True
    epilog: bool = False
    batch_sched_delay: int = 3
    sched_interval: int = 60
    default_queue_depth: int = 100
    bf_interval: int = 30
    main_lag: float = 0.0
    bf_test_time: float = 0.0
    main_phase: float = 0.0
    backfill_phase: float = 0.0


KEYS: dict[str, Callable[[SlurmJob, float], float]] = {
    "fcfs": lambda _job, _now: 0.0,
    "sjf": lambda job, _now: job.requested_time,
    'expression("30 * tasks - wait_time * tasks")': lambda job, now: (
        30 * job.tasks - (now - job.submit_time) * job.tasks
    ),
}
"""The keys of orders; the last changes with time."""


@dataclass
class Run:
    """A run under way. Of a job that holds nodes: its start, what it has, and when its run is over."""

    machine: Machine
    controller: Controller
    jobs: Sequence[SlurmJob]
    drained: Sequence[DrainedNode]
    launch: float
    completion: float
    order: str
    now: float = 0.0
    queue: list[SlurmJob] = field(default_factory=list)
    holding: dict[SlurmJob, tuple[float, list[Allotment], float]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    changed: float = -inf
    is_wanted: bool = False
    main_latest: float = -inf
    full_latest: float = -inf
    backfill_latest: float = -inf
    weights: Weights = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights = self.machine.weights()

    def whole(self, job: SlurmJob) -> bool:
        return self.machine.select == "linear" or job.exclusive

    def tasks_of_node(self, job: SlurmJob, partition: int) -> int:
        def slots(node: int) -> int:
            cpus, memory = self.machine.nodes[node]
            most = min(cpus // job.cpus, memory // job.memory if job.memory else job.tasks)
            return min(most, job.tasks_per_node or most)

        return max(slots(node) for node in self.machine.partitions[partition][0])

    def entries(self) -> list[Entry]:
        key = KEYS[self.order]
        self.queue.sort(key=lambda job: (key(job, self.now), job.submit_time, job.row))
        return [self.entry(job, partition) for job in self.queue for partition in job.partitions]

    def entry(self, job: SlurmJob, partition: int) -> Entry:
        per_node = 0 if self.whole(job) else min(job.tasks_per_node, job.tasks)
        nodes = 0
        if self.whole(job):
            nodes = ceil(job.tasks / self.tasks_of_node(job, partition))
        elif per_node:
            nodes = ceil(job.tasks / per_node)
        return Entry(
            job.row,
            job.limit,
            partition,
            nodes=nodes,
            tasks=job.tasks,
            cpus_per_task=job.cpus,
            tasks_per_node=per_node,
            memory=job.memory // job.cpus,
            memory_is_per_cpu=True,
            exclusive=job.exclusive,
        )

    def situation(self, queue: list[Entry]) -> Situation:
        running, completing = list[Held](), list[Held]()
        for job, (start, parts, over) in self.holding.items():
            group = running if over > self.now else completing
            group.append(Held(job.row, floor(start) + job.limit, parts))
        away = {each.node for each in self.drained if each.begin <= self.now < each.end}
        available = [node for node in range(len(self.machine.nodes)) if node not in away]
        return Situation(floor(self.now), available, running, completing, queue)

    def main(self, *, is_full: bool) -> None:
        entries = self.entries()
        queue = entries if is_full else entries[: self.controller.default_queue_depth + 1]
        verdicts = main_loop(self.machine, self.situation(queue), self.weights)
        self.start(queue, verdicts)
        if any(verdict[0] == "waits" for verdict in verdicts):
            self.change()

    def make_cycle(self) -> float:
        """Give when the cycle ends."""
        queue = self.entries()
        call = begun(self.machine, self.situation(queue), self.weights)
        verdicts = [call.consider(entry) for entry in queue]
        end = self.now + call.tested.total() * self.controller.bf_test_time
        self.backfill_latest = floor(end)
        self.start(queue, verdicts)
        if call.puts_off:
            self.change()
        return end

    def change(self) -> None:
        """Take note of a change that makes backfill work; one during a cycle waits for its end."""
        self.changed = max(floor(self.now), self.backfill_latest)

    def start(self, queue: list[Entry], verdicts: list[Verdict]) -> None:
        by_row = {job.row: job for job in self.jobs}
        for entry, (verdict, _, parts, _) in zip(queue, verdicts, strict=True):
            if verdict != "started":
                continue
            job, left = by_row[entry.job], by_row[entry.job].tasks
            spread = list[tuple[int, int]]()
            for part in parts:
                of_node = (
                    self.tasks_of_node(job, entry.partition) if self.whole(job) else part.cpus // job.cpus
                )
                tasks = min(of_node, left)
                left -= tasks
                spread.append((part.node, tasks))
            self.queue.remove(job)
            over = self.now + self.launch + min(job.run_time, job.requested_time)
            self.holding[job] = self.now, parts, over
            self.places[job.row] = self.now, tuple(spread)
            self.change()

    def take_events(self) -> bool:
        """Take what happens now; whether nodes were released."""
        arrived = [job for job in self.jobs if job.submit_time == self.now]
        turned = any(self.now in (each.begin, each.end) for each in self.drained)
        over = any(over == self.now for _, _, over in self.holding.values())
        gone = [job for job, (_, _, over) in self.holding.items() if over + self.completion == self.now]
        for job in gone:
            del self.holding[job]
        self.queue += arrived
        if arrived or turned or over or gone:
            self.change()
        self.is_wanted |= bool(arrived) or turned or (bool(gone) and not self.controller.epilog)
        return bool(gone)

    def wake_main(self) -> None:
        rules, second = self.controller, floor(self.now)
        is_full = second - self.full_latest >= rules.sched_interval
        if is_full or (self.is_wanted and second - self.main_latest >= rules.batch_sched_delay):
            self.main(is_full=is_full)
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
        times += [time for _, _, over in self.holding.values() for time in (over, over + self.completion)]
        return min((time for time in times if time > self.now), default=inf)


def run(
    machine: Machine,
    controller: Controller,
    jobs: Sequence[SlurmJob],
    drained: Sequence[DrainedNode] = (),
    *,
    launch: float = 0.0,
    completion: float = 0.0,
    order: str = "fcfs",
) -> dict[int, Place]:
    """Give when and where each job starts, with how many tasks on each node; some jobs never start."""
    state = Run(machine, controller, jobs, drained, launch, completion, order)
    interval, period = controller.sched_interval, 1 + controller.main_lag
    first = min([job.submit_time for job in jobs] + [each.begin for each in drained])
    origin = controller.main_phase + floor(first / interval) * interval
    state.main_latest = state.full_latest = floor(origin) - interval
    number, state.now = -interval, first - 1.0
    backfill = ceil(first - controller.backfill_phase) + controller.backfill_phase
    # Where nothing happens for so long, nothing is left to happen.
    idle, quiet = 0.0, 3.0 * (interval + controller.bf_interval) + controller.batch_sched_delay
    while True:
        event, main = state.next_event(), origin + number * period
        state.now = min(event, main, backfill)
        if event == inf and not state.queue and not state.holding:
            return state.places
        if event < inf or state.holding:
            idle = state.now
        elif state.now > idle + quiet:
            return state.places
        if state.now == event and state.take_events() and controller.epilog:
            state.main(is_full=False)
        if state.now == main:
            state.wake_main()
            number += 1
        if state.now == backfill:
            backfill = state.wake_backfill() if controller.backfill else inf
