"""What goes into runs under Slurm's controller: jobs, what happens from outside, rules, parameters (S25)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor

__all__ = ["AGED", "KEYS", "Begun", "Controller", "DrainedNode", "Kept", "Requeue", "Rules", "SlurmJob"]


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
    requeue: bool = True

    @property
    def at_reservation(self) -> int:
        """The place of its reservation; the last place if it has none."""
        return -1 if self.reservation is None else self.reservation

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
class Begun:
    """A state in which a run begins (S28): its time, starts and places of running jobs, jobs over."""

    time: float
    running: Mapping[int, tuple[float, tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    over: frozenset[int] = frozenset()


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
    grace_time: float = 0.0


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
    bf_max_time: int = 30
    bf_yield_interval: int = 2_000_000
    bf_yield_sleep: int = 500_000
    bf_continue: bool = False
    main_lag: float = 0.0
    bf_test_time: float = 0.0
    over_time_limit: int = 0
    kill_wait: int = 30
    message_timeout: int = 10
    requeue_delay: int = 121
    main_phase: float = 0.0
    backfill_phase: float = 0.0
    backfill_start: float = 0.0
    limit_phase: float = 0.0


AGED = "multifactor(age=1000, partition=300, max_age=200, period=7)"
KEYS: dict[str, Callable[[SlurmJob, float, float, float], float]] = {
    "fcfs": lambda _job, _now, _factor, _age: 0.0,
    "sjf": lambda job, _now, _factor, _age: job.requested_time,
    'expression("30 * tasks - wait_time * tasks")': lambda job, now, _factor, _age: (
        30 * job.tasks - (now - job.submit_time) * job.tasks
    ),
    "multifactor(partition=1000)": lambda job, _now, factor, _age: -floor(1000.0 * factor - job.nice),
    AGED: lambda job, _now, factor, age: -floor(max(1000.0 * age + 300.0 * factor - job.nice, 1.0)),
}
"""The keys of orders in a partition with a factor, at an age; that of the expression changes with time."""
