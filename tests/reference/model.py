"""What goes in and what comes out (S3, S4)."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from math import floor, inf

from reference.networks import Network

DAY = 86_400.0
Placement = list[tuple[int, int]]
"""(node, tasks) pairs, in the order in which the allocator filled the nodes."""


@dataclass(frozen=True)
class Dependency:
    """What has to become of jobs: after, afterok, afternotok, afterany or singleton, which names none.

    Several `rows` are an array, of which all is meant; `delay` in seconds has to pass after the start.
    """

    kind: str
    rows: tuple[int, ...] = ()
    delay: float = 0.0


@dataclass(frozen=True)
class Leg:
    """What a job does until something happens to it (S18): `seconds` of its attempt, then it waits again.

    It keeps what it has done where it is suspended, for `pause` seconds; otherwise its next attempt begins.
    """

    seconds: float
    is_suspended: bool = False
    pause: float = 0.0


@dataclass(frozen=True, repr=False)
class Job:
    """One row of a workload: times in seconds; `request` is the amount of each resource per task.

    `node_groups` are the groups whose nodes it may use, by their places in `Machine.groups`; none: all.
    What `queue` and `partitions` name, and who the job is of, matters on machines with queues and partitions
    (S11); `node_sets`, `tier`, `queue_priority`, `in_queue`, `in_partitions` and `in_reservation` follow from
    that, and from `reservation` (S14), when it is submitted. Singletons go by `user` and `name`.
    `time_limit` is the requested_time unless given, and `first_time_limit` what it was at the submission,
    where events changed it (S18). With `cancelled_after` it has no run time of its own: so many seconds after
    its submission it is cancelled, and `run_time` is that long too. It goes through its `legs`, and then
    `last` seconds of its last attempt, if it has legs; `run_time` is that of the longest attempt. `ends` is
    what the job is once its last run is over.
    """

    row: int
    submit_time: float
    run_time: float
    requested_time: float
    tasks: int
    request: tuple[int, ...]
    tasks_per_node: int = 0
    exclusive: bool = False
    requeue: bool = True
    node_groups: tuple[int, ...] = ()
    depends_on: tuple[int, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    any_dependency: bool = False
    begin_time: float = 0.0
    name: str = ""
    array: int | None = None
    array_limit: int | None = None
    queue: str | None = None
    partitions: tuple[str, ...] = ()
    user: str | None = None
    group: str | None = None
    account: str | None = None
    qos: str | None = None
    exempt_from_limits: bool = False
    nice: float = 0.0
    score: float = 0.0
    node_sets: tuple[frozenset[int], ...] = ()
    tier: int = 0
    queue_priority: int = 0
    in_queue: str | None = None
    in_partitions: tuple[str, ...] = ()
    reservation: str | None = None
    in_reservation: str | None = None
    time_limit: float | None = None
    first_time_limit: float | None = None
    cancelled_after: float | None = None
    legs: tuple[Leg, ...] = ()
    last: float = 0.0
    ends: str = "completed"

    @property
    def until(self) -> float | None:
        """When it is cancelled, where it has no run time of its own."""
        return None if self.cancelled_after is None else self.submit_time + self.cancelled_after

    @property
    def first_limit(self) -> float:
        """The limit with which it was submitted."""
        return self.limit if self.first_time_limit is None else self.first_time_limit

    @property
    def limit(self) -> float:
        """How long it may run."""
        return self.requested_time if self.time_limit is None else self.time_limit

    @cached_property
    def in_each_set(self) -> "tuple[Job, ...]":
        """The job bound to each of its node sets alone, in the order in which they are tried (S11)."""
        return tuple(replace(self, node_sets=(nodes,)) for nodes in self.node_sets) or (self,)

    def __repr__(self) -> str:
        """Give what is not as usual, so that cases stay short."""
        said = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)
            if each.default is MISSING or getattr(self, each.name) != each.default
        ]
        return f"Job({', '.join(said)})"


@dataclass(frozen=True)
class Overhead:
    """Seconds that are added before, to, and after the run of a job, and when it is suspended (S17)."""

    launch: float = 0.0
    execution: float = 0.0
    completion: float = 0.0
    suspend: float = 0.0
    resume: float = 0.0


@dataclass(frozen=True)
class Overheads:
    """The overheads of the jobs by row; whether limits count them, and accounts are charged for them."""

    of_job: tuple[Overhead, ...] = ()
    counted: bool = True
    billed: bool = True

    def of(self, job: Job) -> Overhead:
        return self.of_job[job.row] if self.of_job else Overhead()


@dataclass(frozen=True)
class SleepState:
    """A sleep state of nodes, and how nodes get into it and out of it: seconds, and watts (S21)."""

    name: str
    power: float = 0.0
    enter_time: float = 0.0
    enter_power: float = 0.0
    wake_time: float = 0.0
    wake_power: float = 0.0


@dataclass(frozen=True)
class NodeSleep:
    """When nodes sleep (S21).

    `after` is for how long a node is idle before it enters a sleep state, by name; `keep` the number of warm
    nodes from each time on, of each day where it is `daily`.
    """

    after: Mapping[str, float] = field(default_factory=dict)
    keep: tuple[tuple[float, float], ...] = ()
    daily: bool = False
    wake: str = "job"
    counted: bool = False
    prefer_on: bool = False

    def after_of(self, levels: tuple[SleepState, ...], level: int) -> float:
        return self.after.get(levels[level].name, inf)

    def keep_at(self, now: float) -> float:
        """Give how many nodes are to be warm now: by the latest step, before the first of a day the last."""
        moment = now % DAY if self.daily else now
        steps = [count for time, count in self.keep if time <= moment]
        before = self.keep[-1][1] if self.keep and self.daily else 0.0
        return steps[-1] if steps else before

    def keep_changes_after(self, now: float) -> float:
        if now == -inf:
            return inf
        days = (floor(now / DAY) * DAY, floor(now / DAY) * DAY + DAY) if self.daily else (0.0,)
        return min((day + time for day in days for time, _ in self.keep if day + time > now), default=inf)


@dataclass(frozen=True)
class Conditions:
    """Which jobs a queue or a partition admits (S11)."""

    processors: tuple[float, float] = (0, inf)
    nodes: tuple[float, float] = (0, inf)
    time: tuple[float, float] = (0, inf)
    users: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None


@dataclass(frozen=True)
class Partition:
    """A named set of nodes; of one that is exclusive jobs take nodes whole."""

    name: str
    nodes: frozenset[int]
    tier: int = 1
    admits: Conditions = field(default_factory=Conditions)
    priority_factor: float = 1.0
    exclusive: bool = False


@dataclass(frozen=True)
class Queue:
    """Where jobs wait for partitions."""

    name: str
    partitions: tuple[str, ...] = ()
    priority: int = 0
    admits: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True)
class Account:
    """An account with its users and their shares; None: the standing of the account above (S12)."""

    name: str
    parent: str = "root"
    shares: float | None = 1.0
    users: tuple[tuple[str, float | None], ...] = ()
    priority: float = 0.0


@dataclass(frozen=True)
class Quality:
    """A quality of service."""

    name: str
    priority: float = 0.0
    usage_factor: float = 1.0
    preempts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sharing:
    """How usage is counted and compared with shares; `weights` of the resources, none: one per processor."""

    rule: str = "fair_tree"
    decay: str = "exact"
    half_life: float = 604_800.0
    damping: float = 1.0
    weights: tuple[float, ...] = ()
    max_tres: bool = False
    decay_factor: float = 0.5
    decay_period: float = 86_400.0
    least_usage: float = 1.0
    usage: tuple[tuple[str, str | None, float], ...] = ()


@dataclass(frozen=True)
class Limit:
    """What jobs may have at a time (S13); `amounts` by resource, and so are minutes."""

    per: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    applies_to: Conditions = field(default_factory=Conditions)
    running_jobs: float = inf
    submitted_jobs: float = inf
    nodes: float = inf
    amounts: Mapping[str, int] = field(default_factory=dict)
    time: float = inf
    running_minutes: Mapping[str, int] = field(default_factory=dict)
    total_minutes: Mapping[str, int] = field(default_factory=dict)
    blocks: bool = False


@dataclass(frozen=True)
class Preemption:
    """Which jobs may preempt which (S16)."""

    by: str = "tier"
    mode: str = "requeue"
    exempt_time: float = 0.0
    grace_time: float = 0.0
    youngest_first: bool = False


@dataclass(frozen=True)
class Reservation:
    """Nodes that are closed to others for a time (S14); `admits` None: to all."""

    name: str
    nodes: frozenset[int]
    start: float
    duration: float
    every: float = 0.0
    until: float = inf
    admits: Conditions | None = None
    flexible: bool = False
    cancels: bool = False


@dataclass(frozen=True)
class Machine:
    """Named resources, and for each node its amounts of them; who is closed, and what nodes withhold.

    `groups` are the numbers of nodes of the node groups, in the order of the nodes; none: one group of all.
    `sleep_states` are those of each group, the lightest first; none: no node has any. `network`: what
    connects the nodes, where an allocator asks. Jobs get cores by multiples of `core_multiple`.
    """

    resources: tuple[str, ...]
    capacity: list[tuple[int, ...]]
    closed: frozenset[int] = frozenset()
    withheld: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    partitions: tuple[Partition, ...] = ()
    queues: tuple[Queue, ...] = ()
    accounts: tuple[Account, ...] = ()
    qualities: tuple[Quality, ...] = ()
    sharing: Sharing = field(default_factory=Sharing)
    limits: tuple[Limit, ...] = ()
    preemption: Preemption | None = None
    reservations: tuple[Reservation, ...] = ()
    unknown: frozenset[str] = frozenset()
    sleep_states: tuple[tuple[SleepState, ...], ...] = ()
    network: Network | None = None
    core_multiple: int = 1

    @property
    def known(self) -> list[Reservation]:
        """The reservations of which a scheduler knows."""
        return [each for each in self.reservations if each.name not in self.unknown]


@dataclass(frozen=True)
class NodeEvent:
    """What is done to a node at a time: closes it, opens it, or lets it withhold amounts.

    `running_jobs` says what happens to the jobs on a node that is closed: they "stay", are killed ("kill"),
    or wait again and keep nothing of their run ("requeue"), all of it ("keep"), or what it had at its last
    checkpoint, every `every` seconds ("checkpoint").

    `purpose` is that of its timer: only those that "act" keep a run going. If all others only "watch" or
    "repair", each is set once the one before it has gone off.
    """

    time: float
    node: int
    act: str
    amounts: tuple[int, ...] = ()
    running_jobs: str = "stay"
    every: float = 1.0
    purpose: str = "act"


@dataclass(frozen=True)
class ExternalEvent:
    """What comes from outside (S18): to the job of a row, to nodes, or to the scheduler.

    `value` is a requested_time, a priority, or what a limit allows (None: any); `kills`: jobs on nodes that
    go down are killed, else requeued. `number`: of a limit or a reservation; `quantity`: what of a limit.
    """

    time: float
    kind: str
    row: int | None = None
    nodes: tuple[int, ...] = ()
    value: float | None = None
    kills: bool = False
    number: int | None = None
    quantity: str = ""


@dataclass(frozen=True)
class Expression:
    """An order by the user's formula: key(job, now, processors)."""

    key: Callable[[Job, float, int], float]
    dynamic: bool


@dataclass(frozen=True)
class Multifactor:
    """The order by the multifactor priority: weights of factors and of resources."""

    age: float = 0.0
    association: float = 0.0
    fair_share: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    tres: tuple[tuple[str, float], ...] = ()
    max_age: float = 604_800.0
    favour: str = "large"
    period: float = 300.0


Order = str | tuple[str, float] | Expression | Multifactor


@dataclass(frozen=True)
class Outcome:
    """What became of a job; `placement` in the order of the ranks, `reason` where it was rejected."""

    state: str
    start_time: float | None
    end_time: float | None
    placement: Placement
    reason: str | None = None


@dataclass(frozen=True)
class Interruption:
    """A run that was cut short, whose job waits again; `saved` seconds of it need not be run again."""

    row: int
    start_time: float
    end_time: float
    saved: float
    placement: Placement
