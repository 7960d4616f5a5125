from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Self, TypedDict, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from batchlab.application import Application as Description
from batchlab.seam.view import Columns
from batchlab.vocabulary import (
    CauseKind,
    InvalidAction,
    JobCheck,
    JobState,
    JobType,
    OrderAtInstant,
    OverrunAction,
    ProcessorField,
    StopKind,
    WalltimeAction,
)

MOST_LOOKS: int
SOURCES: str
__version__: str

class SwfColumns(TypedDict):
    rows: int
    parts: int
    lines: int
    done: bool
    comments: list[str]
    mended_jobs: int
    note_count: list[int]
    note_reason: NDArray[np.uint8]
    note_line: NDArray[np.int64]
    note_job_id: NDArray[np.int64]
    reasons: list[tuple[str, str]]
    line: NDArray[np.int64]
    columns: dict[str, NDArray[np.int64] | NDArray[np.float64]]

class Caps(TypedDict):
    limit: int
    running: int
    submitted: int
    amounts: list[int]
    time: float
    running_minutes: list[int]
    total_minutes: list[int]
    blocks: bool

class LimitColumns(TypedDict):
    caps: list[Caps]
    lists: list[list[int]]
    list_of: NDArray[np.uint32]
    least_nodes: NDArray[np.uint32]

class PreemptionColumns(TypedDict):
    class_of: NDArray[np.uint32]
    preempts: list[list[int]]
    importance: list[float]
    mode: str
    exempt_time: float
    grace_time: float
    youngest_first: bool

class ReservationColumns(TypedDict):
    nodes: list[list[tuple[int, int]]]
    spans: list[list[tuple[float, float]]]
    cancels: list[bool]
    of_job: NDArray[np.uint32]

class JobColumns(TypedDict):
    submit_time: NDArray[np.float64]
    run_time: NDArray[np.float64]
    requested_time: NDArray[np.float64]
    time_limit: NDArray[np.float64] | None
    tasks: NDArray[np.int64]
    amounts: list[int | NDArray[np.int64]]
    tasks_per_node: NDArray[np.int64] | None
    exclusive: NDArray[np.bool_] | None
    node_sets: list[list[tuple[int, int]]]
    partition_nodes: list[list[tuple[int, int]]]
    node_set_lists: list[list[tuple[int, int, int]]]
    node_set_list: NDArray[np.uint32] | None
    tier: NDArray[np.int32] | None
    queue_priority: NDArray[np.int32] | None
    nodes: NDArray[np.float64] | None
    user: NDArray[np.uint32] | None
    association: NDArray[np.uint32] | None
    array: NDArray[np.uint32] | None
    requeue: NDArray[np.bool_] | None
    cancelled_at: NDArray[np.float64] | None
    run_events: Mapping[str, object] | None
    over_time_limits: list[NDArray[np.float64]]
    places: list[PlaceColumns]
    factors: FactorColumns | None
    limits: LimitColumns | None
    preemption: PreemptionColumns | None
    reservations: ReservationColumns | None
    overheads: OverheadColumns | None
    formula: list[tuple[str, NDArray[np.float64] | None]]
    rejection: NDArray[np.uint8] | None

class ControlInput(TypedDict):
    rates: list[float]
    first: int
    rule: str
    low: list[float]
    high: list[float]
    weighted: bool
    printed: bool
    up: float
    down: float
    coins: list[float]
    seed: int
    threshold: float
    window: float
    interval: float

class ServiceInputs(TypedDict):
    controls: list[ControlInput]
    control_of_node: NDArray[np.uint32] | None
    processors: list[float]
    key_events: bool

class ClosureColumns(TypedDict):
    time: NDArray[np.float64]
    node: NDArray[np.uint32]
    closed: NDArray[np.bool_]

class ShortRunColumns(TypedDict):
    row: NDArray[np.uint32]
    work_start: NDArray[np.float64]
    work_end: NDArray[np.float64]
    ended: NDArray[np.bool_]

class RateColumns(TypedDict):
    time: NDArray[np.float64]
    control: NDArray[np.uint32]
    rate: NDArray[np.float64]

class KeyEventColumns(TypedDict):
    time: NDArray[np.float64]
    event: NDArray[np.uint8]
    row: NDArray[np.int64]
    rate: NDArray[np.float64]
    workload: NDArray[np.float64]
    weighted_workload: NDArray[np.float64]
    present: NDArray[np.uint64]
    served: NDArray[np.uint64]
    busy: NDArray[np.float64]

class EventColumns(TypedDict):
    time: NDArray[np.float64]
    kind: NDArray[np.uint8]
    row: NDArray[np.int64]
    value: NDArray[np.float64]
    until: NDArray[np.int64]
    ranges: list[tuple[int, int]]
    kills: NDArray[np.bool_]
    limits: dict[int, tuple[int, str, int]]
    reservations: dict[int, int]

class SleepInputs(TypedDict):
    levels: list[list[tuple[float, float, float]]]
    kind_of: NDArray[np.uint32]
    keep: list[tuple[float, float]]
    clock: list[tuple[float, float]] | None
    wakes_for_queue: bool
    counted: bool
    prefers_on: bool

class PowerStateColumns(TypedDict):
    time: NDArray[np.float64]
    node: NDArray[np.uint32]
    state: NDArray[np.uint16]

class OverheadColumns(TypedDict):
    launch: NDArray[np.float64]
    completion: NDArray[np.float64]
    suspend: NDArray[np.float64]
    resume: NDArray[np.float64]
    counted: bool
    billed: bool

class ConditionColumns(TypedDict):
    clauses: list[tuple[int, list[tuple[int, str, float]]]]
    groups: list[list[int]]
    begin_times: NDArray[np.float64] | None
    places: list[tuple[int | None, int]]
    limits: list[int]

class ReasonColumns(TypedDict):
    row: NDArray[np.uint32]
    reason: NDArray[np.uint32]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]

class WaitingColumns(TypedDict):
    row: NDArray[np.uint32]
    reason: NDArray[np.uint32]

class RecordedColumns(TypedDict):
    waiting: WaitingColumns
    dispatch: dict[str, NDArray[np.generic]] | None
    reasons: ReasonColumns | None
    interruptions: InterruptionColumns
    short_runs: ShortRunColumns
    resizes: StretchColumns | None
    task_times: TaskTimeColumns | None
    sensed: SensedColumns | None
    ranks: RankColumns | None
    application_time: NDArray[np.float64] | None
    messages: MessageColumns | None
    links: LinkColumns | None
    usage: UsageColumns | None
    rates: RateColumns | None
    key_events: KeyEventColumns | None
    events_applied: NDArray[np.bool_] | None
    requested_time: NDArray[np.float64]
    time_limit: NDArray[np.float64] | None
    power_states: PowerStateColumns | None
    closures: ClosureColumns | None
    waking_time: NDArray[np.float64] | None

class FactorColumns(TypedDict):
    association: NDArray[np.float64] | None
    partition: NDArray[np.float64] | None
    qos: NDArray[np.float64] | None
    nice: NDArray[np.float64] | None
    resources: list[NDArray[np.float64]]

class PlaceColumns(TypedDict):
    tier: NDArray[np.int32]
    partition: NDArray[np.float64] | None
    resources: list[NDArray[np.float64]]

class FactorSettings(TypedDict):
    age: float
    association: float
    fair_share: float
    job_size: float
    partition: float
    qos: float
    resources: list[float]
    max_age: float
    favour: str
    nodes: int
    processors: int

class AccountInputs(TypedDict):
    tree: AccountTree
    rule: str
    damping: float
    least_usage: float
    weights: list[float]
    max_tres: bool
    decay: str
    half_life: float
    step: tuple[float, float]
    node: NDArray[np.uint32]
    usage_factor: NDArray[np.float64] | None
    initial: list[tuple[int, float]]
    record: bool

class UsageColumns(TypedDict):
    time: NDArray[np.float64]
    usage: NDArray[np.float64]
    factor: NDArray[np.float64]

class ApplicationJobColumns(TypedDict):
    job_type: NDArray[np.uint8]
    tasks_min: NDArray[np.int64]
    tasks_max: NDArray[np.int64]
    application: NDArray[np.int64]
    applications: list[Application]
    arguments: NDArray[np.int64]
    argument_sets: list[dict[str, float | str]]
    rank_order: NDArray[np.int64]
    rank_orders: Sequence[str | list[int]]

class PolicyNames(TypedDict):
    order: str
    argument: str | None
    multifactor: FactorSettings | None
    backfill: str
    allocator: str
    reservations: int
    slurm: ControllerSettings | None
    seed: int
    critical: list[int]
    mapping: MappingSettings | None
    ranking: str

class ControllerSettings(TypedDict):
    select: str
    cr_lln: bool
    pack_serial_at_end: bool
    core: int | None
    memory: int | None
    gpu: int | None
    weights: list[tuple[int, int]]
    batch_sched_delay: int
    sched_interval: int
    sched_min_interval: float
    default_queue_depth: int
    partition_job_depth: int
    sched_max_job_start: int
    epilog: bool
    backfill: bool
    bf_interval: int
    bf_max_time: int
    bf_yield_interval: float
    bf_yield_sleep: float
    bf_continue: bool
    bf_busy_nodes: bool
    bf_resolution: float
    bf_window: float
    bf_max_job_test: int
    bf_max_job_part: int
    bf_max_job_user: int
    bf_max_job_user_part: int
    bf_max_job_assoc: int
    bf_max_job_start: int
    bf_job_part_count_reserve: int
    bf_min_prio_reserve: float
    bf_min_age_reserve: float
    bf_one_resv_per_job: bool
    bf_max_job_array_resv: int
    over_time_limit: float
    kill_wait: float
    message_timeout: float
    requeue_delay: float
    epoch: float
    main_lag: float
    bf_test_time: float
    main_phase: float | None
    limit_phase: float | None
    backfill_phase: float | None

class MappingSettings(TypedDict):
    order: list[int]
    blocks: int | None
    are_fixed: bool
    threshold: float | None
    by_nodes: bool
    closeness: str | None
    centres: int
    fabric: Fabric | None

class Listening(TypedDict):
    estimates: bool
    changes: int
    every_instant: bool

class StretchColumns(TypedDict):
    row: NDArray[np.uint32]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    placement_offsets: NDArray[np.int64]
    placement_nodes: NDArray[np.uint32]
    placement_tasks: NDArray[np.uint32]
    allocated: NDArray[np.int64]

class InterruptionColumns(StretchColumns):
    work_start: NDArray[np.float64]
    work_end: NDArray[np.float64]
    saved: NDArray[np.float64]

class ApplicationInputs(TypedDict):
    platform: Platform
    hosts: list[int]
    gpus: int | None
    network: tuple[str, list[tuple[str, float]]]
    jobs: ApplicationJobs
    by_messages: bool
    fabric: Fabric | None
    clip_requests: bool
    log_tasks: bool
    hop_links: list[bool] | None
    sensors: object

class SensedColumns(TypedDict):
    time: NDArray[np.float64]
    cpu: NDArray[np.float64]
    gpu: NDArray[np.float64]
    network: NDArray[np.float64]
    links: NDArray[np.float64]

class RankColumns(TypedDict):
    row: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.uint32]

class MessageColumns(TypedDict):
    row: NDArray[np.uint32]
    kind: NDArray[np.uint32]
    messages: NDArray[np.uint64]
    bytes: NDArray[np.float64]
    hops: NDArray[np.uint64]
    max_hops: NDArray[np.uint32]
    hop_bytes: NDArray[np.float64]
    names: list[str]

class LinkColumns(TypedDict):
    bytes: NDArray[np.float64]
    peak: NDArray[np.float64]
    busy: NDArray[np.float64]
    congested: NDArray[np.float64]

class TaskTimeColumns(TypedDict):
    row: NDArray[np.uint32]
    host: NDArray[np.uint32]
    task: NDArray[np.uint32]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    names: list[str]

class OutcomeColumns(TypedDict):
    state: NDArray[np.uint8]
    reason: NDArray[np.uint8]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    range_offsets: NDArray[np.int64]
    range_first: NDArray[np.uint32]
    range_count: NDArray[np.uint32]
    range_tasks: NDArray[np.uint32]
    allocated: NDArray[np.int64]

class StatusColumns(TypedDict):
    state: NDArray[np.uint8]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    queue: NDArray[np.uint32]
    waiting: NDArray[np.uint32]
    reasons: NDArray[np.uint32]
    running: NDArray[np.uint32]
    ended: NDArray[np.uint32]
    allocated_since: NDArray[np.float64]
    placement_offsets: NDArray[np.int64]
    placement_nodes: NDArray[np.uint32]
    placement_tasks: NDArray[np.uint32]
    free: NDArray[np.int64]
    idle: NDArray[np.int64]
    drained: NDArray[np.bool_]

class StreamedMachine(TypedDict):
    resources: list[str]
    groups: list[tuple[int, list[int]]]
    processor: list[int]

class StreamedOverheads(TypedDict):
    blocks: Iterator[tuple[NDArray[np.float64], ...]]
    per_task: tuple[float, ...]
    counted: bool
    billed: bool

class StreamNotes(TypedDict):
    read: int
    kept: int
    parts: int
    dropped: dict[str, int]
    mended: dict[str, int]
    noted: dict[str, int]

class StreamedRun(TypedDict):
    notes: StreamNotes
    metrics: dict[str, object]

@final
class SlurmController:
    """The part of a controller that does not change from call to call."""

    def __new__(
        cls,
        settings: ControllerSettings,
        machine: list[tuple[int, int]],
        generic: tuple[list[list[int]], int | None],
        partitions: list[tuple[list[int], int]],
        weights: list[int],
        precedence: object | None,
    ) -> SlurmController: ...
    def main_loop(
        self, situation: object, weights: list[int], is_full: bool
    ) -> tuple[
        list[tuple[str, float | None, list[tuple[int, int, int, list[int]]] | None, list[int]]], list[int]
    ]:
        """The main loop, for the whole queue or its first entries: for each entry what becomes of it, and the weights of nodes
        then.
        """
    def backfill(
        self, situation: object, weights: list[int]
    ) -> tuple[
        list[tuple[str, float | None, list[tuple[int, int, int, list[int]]] | None, list[int]]], list[int]
    ]:
        """Backfill: for each entry of the queue what becomes of it, and the weights of nodes then."""
    def submit(self, situation: object, weights: list[int]) -> list[int]:
        """The weights of nodes after these jobs have been submitted."""

@final
class SwfStream:
    """A log that is opened, its comments read up to the first job."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        overrun: OverrunAction,
        invalid: InvalidAction,
        processors: ProcessorField,
        use_memory: bool,
        log_events: bool,
    ) -> SwfStream: ...
    @property
    def comments(self) -> list[str]:
        """The comments before the first job, and some after it."""
    def run(
        self,
        machine: StreamedMachine,
        policy: PolicyNames,
        *,
        walltime: WalltimeAction,
        order_at_instant: OrderAtInstant,
        job_check: JobCheck,
        answer: str | PathLike[str] | None = None,
        progress: Callable[[int, float], object] | None = None,
        events: Iterator[list[tuple[float, str, int | None, list[tuple[int, int]], float | None, bool]]]
        | None = None,
        absent: Sequence[int] = ...,
        overheads: StreamedOverheads | None = None,
    ) -> StreamedRun:
        """Simulates the log; `progress(finished, now)` is called now and then, and `answer` gets the table of jobs.

        `events` gives lists of external events by time, each (time, kind, job, ranges of nodes, value, kills), and is
        read as they come; the nodes of `absent` are not there from the beginning. `overheads` are drawn block by block.
        """

class LogFacts(TypedDict):
    """What a log that was read whole holds."""

    read: int
    kept: int
    mended_jobs: int
    first_submission: float
    last_submission: float

@final
class SwfLog:
    """A log that was read whole."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        overrun: OverrunAction,
        invalid: InvalidAction,
        processors: ProcessorField,
        use_memory: bool,
        log_events: bool,
    ) -> SwfLog: ...
    @property
    def comments(self) -> list[str]:
        """The comments."""
    @property
    def facts(self) -> LogFacts:
        """How many jobs were read and kept, how many of these have a changed value, and the first and the last submit time."""
    def columns(self) -> SwfColumns:
        """The columns, as `read_swf_file` gives them; once, for they are handed over."""
    def simulation(
        self,
        machine: StreamedMachine,
        policy: PolicyNames,
        *,
        walltime: WalltimeAction,
        order_at_instant: OrderAtInstant,
        job_check: JobCheck,
    ) -> Simulation:
        """A simulation of the log that takes its measures while it runs."""
    def asked(self) -> tuple[int, bool]:
        """Of how many jobs the time limit is not known to be above the run time, and whether any asked for memory."""
    def beside(self, simulation: Simulation, machine: StreamedMachine) -> dict[str, object] | None:
        """The log's own schedule beside the simulated one, over the jobs that ran in both, as `batchlab.result.near` has it; None
        if there are none.
        """

@final
class SwfParser:
    """Reads a log that comes in pieces of bytes."""

    def __new__(
        cls,
        *,
        overrun: OverrunAction,
        invalid: InvalidAction,
        processors: ProcessorField,
        use_memory: bool,
        log_events: bool,
        max_jobs: int | None = None,
    ) -> SwfParser: ...
    def feed(self, piece: bytes) -> bool:
        """Takes the next piece; says whether more is wanted."""
    def note_trailing_bytes(self) -> None:
        """Note that bytes behind the end of a packed log were ignored."""
    def finish(self) -> SwfColumns:
        """Takes the log for complete, and gives what was read."""

@final
class Formula:
    """A formula of a performance model, parsed once.

    Parameters
    ----------
    formula
        Its text, in the usual subset of ExprTk that docs/applications.md describes; or a number; or a
        formula.

    Raises
    ------
    ApplicationError
        If the text is no formula; the message says at which character and why.

    Examples
    --------
    >>> import batchlab as bl
    >>> work = bl.Formula("flops / num_nodes ^ 0.9")
    >>> work.names
    ('flops', 'num_nodes')
    >>> work(flops=8e12, num_nodes=1)
    8000000000000.0
    """

    def __new__(cls, formula: Formula | str | float) -> Formula: ...
    @property
    def text(self) -> str:
        """As it was written."""
    @property
    def number(self) -> float | None:
        """The number that it is, or None."""
    @property
    def names(self) -> tuple[str, ...]:
        """The names in it, each once, in order of appearance."""
    def __call__(self, **names: float | str) -> float:
        """Give its value, given what its names mean: numbers, or texts to be compared."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Application:
    """An application, made once of `batchlab.Application` for all jobs that run it."""

    def __new__(cls, description: Description) -> Application: ...

@final
class MessageProgram:
    """The flat program of a skeleton, rank by rank.

    Operation `i` is of kind 0 to 5 (send, receive, await the send, await the receive, compute, take) with the message's
    number, the floating-point operations or the seconds as its amount; rank `r` does those from `first[r]` to
    `first[r + 1]`. Message `m` is of class `classes[kinds[m]]`, and `envelope` bytes of its size are no payload. A
    `ValueError` says which list does not fit.
    """

    def __new__(
        cls,
        first: NDArray[np.uint32],
        kind: NDArray[np.uint8],
        amount: NDArray[np.float64],
        source: NDArray[np.uint32],
        target: NDArray[np.uint32],
        size: NDArray[np.float64],
        eager: NDArray[np.bool_],
        classes: list[str],
        kinds: NDArray[np.uint16],
        envelope: float,
    ) -> MessageProgram: ...
    def stuck(self) -> NDArray[np.uint32]:
        """The places of the operations at which ranks stand that can never go on."""
    def run(
        self,
        platform: Platform,
        model: tuple[str, list[tuple[str, float]]],
        hosts: NDArray[np.uint32],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Run alone on a platform, rank `r` on host `hosts[r]`. Where that cannot be, a `ValueError` says why."""

@final
class RoundProgram:
    """The messages of an aggregated skeleton in rounds.

    Entry `i` is an operation as of `MessageProgram`, or of kind 6 the collective of the number `amount[i]`; rank `r` does
    those from `first[r]` to `first[r + 1]`. The messages of batch `b` are those from `batches[b]` to `batches[b + 1]`;
    batch 0 has those that ranks post themselves, and the others are rounds of collectives. Collective `c` has the batches
    `rounds[j]` for `j` from `calls[c]` to `calls[c + 1]`. `overheads` are the seconds before a send and after a receive
    of a collective. Message `m` is of class `classes[kinds[m]]`, and `envelope` bytes of its size are no payload. A
    `ValueError` says which list does not fit.
    """

    def __new__(
        cls,
        first: NDArray[np.uint32],
        kind: NDArray[np.uint8],
        amount: NDArray[np.float64],
        source: NDArray[np.uint32],
        target: NDArray[np.uint32],
        size: NDArray[np.float64],
        eager: NDArray[np.bool_],
        batches: NDArray[np.uint32],
        calls: NDArray[np.uint32],
        rounds: NDArray[np.uint32],
        overheads: tuple[float, float],
        classes: Sequence[str],
        kinds: NDArray[np.uint16],
        envelope: float,
    ) -> RoundProgram: ...
    def stuck(self) -> NDArray[np.uint32]:
        """The places of the entries at which ranks stand that can never go on."""
    def messages(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The messages round by round, by their numbers, and the round of each; a message may go in several."""
    def run(
        self,
        platform: Platform,
        model: tuple[str, list[tuple[str, float]]],
        hosts: NDArray[np.uint32],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Run alone on a platform, rank `r` on host `hosts[r]`. Where that cannot be, a `ValueError` says why."""

@final
class ApplicationJobs:
    """The same, row by row, as the simulation takes it."""

    def __new__(cls, columns: ApplicationJobColumns) -> ApplicationJobs: ...
    def __len__(self) -> int: ...

@final
class Fabric:
    """Nodes by their places in a torus, tree or dragonfly."""

    def __new__(cls, kind: str, sizes: Sequence[int], places: Sequence[int]) -> Fabric: ...
    def __len__(self) -> int: ...
    def hops(self, source: int, target: int) -> int:
        """The hops from one node to another."""

@final
class VirtualClock:
    """A clock that the processes of a virtual cluster share; see `batchlab.bridge.slurm.clock`."""

    def __new__(cls, path: str | PathLike[str], highest: float, unix: int) -> VirtualClock: ...
    def now(self) -> float:
        """Virtual UNIX time, in seconds."""

    def set_rate(self, rate: float) -> None:
        """Lets virtual time go at a rate from now on."""

    def hold(self) -> None:
        """Keeps real time until it is released as often."""

    def release(self) -> None:
        """Ends what `hold` began."""

    def wait(self, instant: float, longest: float) -> bool:
        """Waits for a virtual instant (UNIX time, s), or for so long really (s). Says whether the instant has come."""

    def govern(self) -> None:
        """Sets the rate by what the processes do, on a thread of its own, until `end`."""

    def end(self) -> None:
        """Ends the thread."""

    def course(self) -> tuple[float, float, float, int]:
        """What it did since it began: real and virtual time (s), the real time at rate 1, the changes of the rate."""

@final
class Simulation:
    """A replay of a workload: the compiled half of `batchlab.Simulation`."""

    def __new__(
        cls,
        columns: JobColumns,
        capacity: NDArray[np.int64],
        core: int | None,
        policy: PolicyNames,
        *,
        walltime: WalltimeAction,
        order_at_instant: OrderAtInstant,
        job_check: JobCheck,
        dispatch: bool,
        reasons: bool,
        listening: Listening,
        applications: ApplicationInputs | None = None,
        conditions: ConditionColumns | None = None,
        invocation: object = None,
        period: float | None = None,
        accounts: AccountInputs | None = None,
        events: EventColumns | None = None,
        service: ServiceInputs | None = None,
        sleep: SleepInputs | None = None,
    ) -> Simulation: ...
    def metrics(self, resources: Sequence[str]) -> dict[str, object] | None:
        """The measures that were taken while the simulation ran to its end, under the names of `batchlab.metrics.overview`: once,
        and None where none were taken. Raises `OSError` where the temporary file for those of many jobs fails.
        """
    @property
    def now(self) -> float:
        """The present time, seconds."""
    @property
    def next_time(self) -> float | None:
        """The next instant at which something happens, or None at the end."""
    @property
    def finished(self) -> int:
        """Jobs that ended or were rejected so far."""
    def step(self) -> bool:
        """Does everything that happens at the next instant, asking nothing outside; false if nothing was left."""
    def run_until(self, time: float, progress: Callable[[int, float], object] | None = None) -> None:
        """Does everything until `time`, inclusive, asking nothing outside; `progress(finished, now)` is called now and then, and
        may look at this simulation.
        """
    def drive_until(
        self,
        time: float,
        hooks: object,
        view: View,
        progress: Callable[[int, float], object] | None = None,
        instants: int = ...,
    ) -> StopKind:
        """Goes on until a time, inclusive, asking the hooks; at most so many instants. Gives why it stopped: "over",
        "instants", or "decision" where there is no hook that decides: the caller does, and then calls `end_decision`.
        """
    def tell_changes(self, hooks: object, view: View) -> None:
        """Tells the hooks what changed since they were told last, in the midst of a pass too."""
    def end_decision(self) -> None:
        """Ends the pass in which the caller was to decide; without this it is asked again."""
    def fork(self) -> Simulation:
        """An independent copy of the present state."""
    def snapshot(self) -> bytes:
        """The present state as bytes."""
    def restore(self, data: bytes) -> None:
        """Goes on from a snapshot of a simulation of the same jobs, system, policy and options."""
    def adopt(self, policy: PolicyNames) -> None:
        """Goes on under another policy, beginning with a pass at this very instant."""
    def assume_estimates(self) -> None:
        """From now on every job runs for its estimate, and no further job comes."""
    def run_times(self) -> NDArray[np.float64]:
        """How long every job runs, seconds: in a look ahead, as far as it is known."""
    def outcome(self) -> OutcomeColumns:
        """What became of every job so far: columns by name."""
    def status(self, latest: int) -> StatusColumns:
        """Which jobs wait, which run where, and what is free; and where the `latest` jobs that ended last were."""
    def recorded(self) -> RecordedColumns:
        """What was recorded of the run, in columns, by the names of the fields of an outcome; None for what was not."""
    def gauges(self) -> tuple[int, list[int]]:
        """How many jobs wait, and what is free of each resource in all."""

@final
class Job:
    """A job of a running simulation."""

    @property
    def id(self) -> int:
        """Its `job_id` in the workload."""
    @property
    def row(self) -> int:
        """Its row in the workload."""
    @property
    def submit_time(self) -> float:
        """When it is submitted, seconds."""
    @property
    def time_limit(self) -> float:
        """How long it may run, seconds; infinite where it has no limit."""
    @property
    def requested_time(self) -> float:
        """What schedulers plan with, seconds; infinite where nothing is known."""
    @property
    def estimate(self) -> float:
        """What its run_time is taken to be: requested_time, or what a predictor said; seconds."""
    @property
    def saved_time(self) -> float:
        """What it keeps of runs that were cut short: seconds that it need not run again."""
    @property
    def tasks(self) -> int:
        """How many tasks it has, where it runs an application, or else asks for."""
    @property
    def tasks_min(self) -> int:
        """The fewest tasks that it can have."""
    @property
    def tasks_max(self) -> int:
        """The most tasks that it can have."""
    @property
    def job_type(self) -> JobType:
        """What decides on its size: "rigid", "moldable", "malleable", "evolving" or "adaptive"."""
    @property
    def is_resizable(self) -> bool:
        """Whether it runs and can be resized: at its scheduling points, or at this very instant."""
    @property
    def has_application(self) -> bool:
        """Whether it carries an application, which runs it; of what that did nothing can be kept."""
    @property
    def ranks(self) -> list[int]:
        """Its nodes by rank, one per task; empty where it runs no application now."""
    @property
    def pending_ranks(self) -> list[int] | None:
        """Its nodes by rank from its next scheduling point on; None where nothing was decided."""
    @property
    def requested_tasks(self) -> int | None:
        """How many tasks it asks for at this very instant; None where it does not ask."""
    @property
    def progress(self) -> tuple[int, int] | None:
        """Iterations of its phases that are done, and of how many; None where it runs no application."""
    @property
    def is_preparing(self) -> bool:
        """Whether it is still at what it does once at its start, or after its nodes changed."""
    @property
    def request(self) -> dict[str, int]:
        """What each task asks of ONE node, by resource."""
    @property
    def demand(self) -> dict[str, int]:
        """What it asks in all, by resource."""
    @property
    def exclusive(self) -> bool:
        """Whether it takes whole idle nodes."""
    @property
    def tasks_per_node(self) -> int:
        """At most so many of its tasks share a node; 0 for no limit."""
    @property
    def node_group(self) -> str | None:
        """The node groups whose nodes it may use, as in the workload: "cpu|fat"; None for all nodes."""
    @property
    def state(self) -> JobState:
        """Its state: "loaded", "queued", "running", "completed", "killed" or "rejected"."""
    @property
    def start_time(self) -> float | None:
        """When it started, seconds; None where it has not."""
    @property
    def end_time(self) -> float | None:
        """When it ended, seconds; None where it has not."""
    @property
    def expected_end(self) -> float | None:
        """When it is thought to end, seconds, never before now; None where it does not run."""
    @property
    def nodes(self) -> dict[int, int]:
        """The nodes that it runs or ran on, with the number of its tasks on each."""
    @property
    def run_time(self) -> float:
        """Its true duration, seconds: of a job that is done, or where a policy asks for it by name."""
    # The workload's columns, whatever they hold.
    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __getattr__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __deepcopy__(self, memo: dict[int, object]) -> Job: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Queue:
    """The waiting jobs in order; columns by name, one value per job."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the waiting jobs in the workload, in order: int64."""
    @property
    def estimate(self) -> NDArray[np.float64]:
        """What their run times are taken to be, seconds: float64."""
    @property
    def demand(self) -> NDArray[np.int64]:
        """What they ask in all of each resource: int64, shape (jobs, resources)."""
    def __len__(self) -> int: ...
    def __deepcopy__(self, memo: dict[int, object]) -> Queue: ...
    def __iter__(self) -> Candidates: ...
    def __contains__(self, job: object, /) -> bool: ...
    # The workload's columns, whatever they hold.
    @overload
    def __getitem__(self, key: str, /) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int, /) -> Job: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Job]: ...
    def __getattr__(self, name: str, /) -> NDArray[Any]: ...

@final
class Candidates:
    """A walk over waiting jobs, in order. Jobs that leave the queue meanwhile do it no harm."""

    def __deepcopy__(self, memo: dict[int, object]) -> Candidates: ...
    def __iter__(self) -> Candidates: ...
    def __next__(self) -> Job: ...

@final
class Platform:
    """Hosts, links and routes, for the kernel."""

    def __new__(cls, parts: list[tuple[str, int | None, object]]) -> Platform: ...
    @property
    def hosts(self) -> list[str]:
        """The hosts' names, in order."""
    @property
    def links(self) -> list[tuple[str, float, float, bool]]:
        """Name, bandwidth in bytes per second, latency in seconds of each link; and whether flows do not share it."""
    def route(self, source: int, target: int) -> tuple[list[int], float] | None:
        """The numbers of the links from one host to another, and their latency in seconds; None where there is no way."""

class ParallelTask(TypedDict):
    hosts: list[int]
    flops: list[float]
    bytes: list[float]

def map_ranks(
    matrix: NDArray[np.float64], nodes: NDArray[np.uint32], hops: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Map ranks to places so that the hop-bytes of what they send decrease; give the node of each rank, as `nodes` has that of
    each place. `matrix[r, s]`: bytes from rank `r` to rank `s`; `hops[a, b]`: from node `a` to node `b`.
    """

def run_job_alone(
    jobs: ApplicationJobs,
    row: int,
    platform: Platform,
    model: tuple[str, list[tuple[str, float]]],
    hosts: NDArray[np.uint32],
    gpus: int,
    begin: float,
    clip_requests: bool,
) -> float:
    """Run what job `row` carries alone from `begin` on, rank `r` on host `hosts[r]`, with so many GPUs of each; give how
    many seconds that takes. Where it cannot be done, a `ValueError` says why.
    """

def network_models() -> list[tuple[str, str, bool, list[str]]]:
    """The network models in their order."""

def rules() -> dict[str, list[tuple[str, str, str]]]:
    """The built-in rules by their kind, `order`, `backfill`, `discipline`, `allocator` or `fair_share`: for each the name, what it does in one line, and
    the publication that defines it; empty for folklore.
    """

def names() -> dict[str, list[str]]:
    """Names in the order of their numbers: of the states and types of jobs, of the reasons for which
    they are rejected and wait, of the options `walltime`, `job_check` and `order_at_instant`, of the
    methods by which an observer takes note of each kind of change, of the kinds of external events, and of the
    events that controls of rates look at.
    """

def share(
    platform: Platform,
    model: tuple[str, list[tuple[str, float]]],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    size: NDArray[np.float64],
    start: NDArray[np.float64],
    tasks: list[ParallelTask],
) -> NDArray[np.float64]:
    """When each flow or task ends, in seconds.

    Rows whose source is -1 are the parallel tasks, in order. The Python side has checked all values; where there is no
    route, a `LookupError` has the row and the two hosts' numbers.
    """

class Draw(TypedDict):
    idle: float
    busy: float
    drained: float
    per_unit: list[float]
    asleep: list[float]

class Warms(TypedDict):
    resistance: float
    capacity: float
    ambient: float
    initial: float

@final
class PowerMeter:
    """Reads the meter of the simulation that a view is of."""

    def __new__(cls, view: View) -> PowerMeter: ...
    @property
    def power(self) -> float:
        """Watts now, of all nodes."""
    @property
    def energy(self) -> float:
        """Joules so far, of all nodes."""
    @property
    def node_power(self) -> NDArray[np.float64]:
        """Watts now, node by node."""
    @property
    def node_energy(self) -> NDArray[np.float64]:
        """Joules so far, node by node."""
    @property
    def spent(self) -> list[list[tuple[float, float]]]:
        """Joules, and seconds of all nodes, that the nodes of each kind have spent so far idle, busy, drained, and in each of
        the power states but on.
        """
    @property
    def job_energy(self) -> NDArray[np.float64]:
        """Joules so far, job by job."""
    @property
    def temperatures(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Degrees Celsius now and the most so far, node by node; empty where they are not computed."""
    @property
    def steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The power as a step function: times, and watts from each of them on; the last time is now."""
    def measure(self, kinds: NDArray[np.uint32], draws: list[list[Draw]], rates: list[list[float]]) -> None:
        """Measures from now on: `kinds` gives each node's place in `draws`, and each of these what nodes draw at each of the
        `rates` of its kind; one, and no rates, where they do not matter.
        """
    def rates_of(self, node: int) -> list[float]:
        """The rates at which a node may be served by its control; 1 where it has none."""
    def measure_temperature(self, warms: list[Warms]) -> None:
        """Also computes how warm the nodes get: one entry per kind of node."""
    def power_with(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> float | None:
        """Watts of all nodes once a job has started; None where it does not fit."""

@disjoint_base
class View:
    """The state of a simulation as schedulers, allocators, predictors and observers see it."""

    caller: int
    def __new__(
        cls,
        simulation: Simulation,
        resources: list[str],
        columns: Columns,
        values: Mapping[str, object],
        allocator: Callable[..., object] | None,
        clairvoyant: bool,
    ) -> Self: ...
    @property
    def now(self) -> float:
        """The present time, seconds."""
    @property
    def first_submission(self) -> float:
        """When the first job is submitted, seconds: the origin of what is added up, averaged or done in intervals."""
    @property
    def revision(self) -> int:
        """How often the situation has changed so far. Equal values in two passes mean that nothing differs that a decision may
        depend on, but what follows from `now`, the progress of applications, and which jobs are at scheduling points.

        It grows with each event, decision and change of a node, and with time where limits count minutes or the order
        changes with time. A fork or a snapshot goes on from its value. Compare it for equality only.
        """
    @property
    def clairvoyant(self) -> bool:
        """Whether jobs show their true run times."""
    @property
    def resources(self) -> list[str]:
        """The names of the resources, in the system's order."""
    @property
    def columns(self) -> Columns:
        """The workload's columns by name, as `NumPy` arrays: one value per row."""
    @property
    def values(self) -> Mapping[str, Any]:
        """Observers' values by name."""
    @property
    def queue(self) -> Queue:
        """The waiting jobs, in order."""
    @property
    def running(self) -> list[Job]:
        """The running jobs, by expected end."""
    @property
    def on_hold(self) -> list[Job]:
        """The jobs on hold, by row."""
    @property
    def free(self) -> NDArray[np.int64]:
        """What is free on each node: int64, shape (nodes, resources)."""
    @property
    def capacity(self) -> NDArray[np.int64]:
        """What each node has: int64, shape (nodes, resources)."""
    @property
    def total_free(self) -> dict[str, int]:
        """What is free in all, by resource."""
    def candidates(self, after: Job | None = None) -> Candidates:
        """Walk over the waiting jobs that may start now, in order, found by index.

        Passed over are those whose demand is not free in all, and those with a reservation in this pass.

        Parameters
        ----------
        after
            Only those behind this job.

        Returns
        -------
        iterator of Job
        """
    @property
    def available(self) -> NDArray[np.int64]:
        """What each node offers, free or not: int64, shape (nodes, resources)."""
    @property
    def total_available(self) -> dict[str, int]:
        """What is on offer in all, free or not, by resource."""
    def max_additional_tasks(self, job: Job, limit: int) -> int:
        """Count how many more tasks of a job there is room for now, up to a number.

        Those count that a running job was to lose at its next scheduling point, and could keep.
        """
    def flow_on(self, link: int) -> float:
        """Give the bytes per second that flow over a link of the platform, by its number."""
    def work_on(self, node: int) -> tuple[float, list[bool]]:
        """Give the operations per second on a node's CPU, and which of its GPUs are at work (none without applications)."""
    def is_drained(self, node: int) -> bool:
        """Whether a node is drained: no further job starts there."""
    def power_state_number(self, node: int) -> int:
        """Give the number of a node's power state among those of its group; 0 for on."""
    def jobs_on(self, node: int) -> list[Job]:
        """List the running jobs with tasks on a node, by expected end."""
    def job(self, row: int) -> Job:
        """Give the job in a row of the workload."""
    def start(
        self,
        job: Job,
        nodes: Mapping[int, int] | Iterable[int] | None = None,
        *,
        tasks: int | None = None,
        gpus: int | None = None,
    ) -> bool:
        """Start a waiting job.

        Parameters
        ----------
        job
            The job; in the queue.
        nodes
            Its nodes: the number of tasks by node, or one node per task, by rank. Unless given, the
            allocator chooses.
        tasks
            On how many tasks, of a job that is not rigid; those that it asks for unless given.
        gpus
            How many GPUs its application uses on each node; those that a task asks for unless given.

        Returns
        -------
        bool
            False, and nothing done, where there is no place now, or one that would delay a reservation.

        Raises
        ------
        DecisionError
            If it is not waiting, or cannot be on these nodes; or if no pass is being made.
        """
    def place(self, job: Job) -> dict[int, int] | None:
        """Find out where the allocator would put a job now, reservations aside.

        Returns
        -------
        dict or None
            The number of tasks by node; None where it does not fit.
        """
    def limit_over(self, job: Job, tasks: int | None = None) -> int | None:
        """Number the first limit that stands against starting a waiting job on so many tasks now."""
    def slots(self, job: Job, node: int) -> int:
        """Count how many tasks of a job a node admits now."""
    def reserve(self, job: Job, time: float | None = None) -> float:
        """Reserve for a waiting job until the end of this pass: no job starts that would delay it.

        Parameters
        ----------
        job
            The job. A reservation that it has is changed.
        time
            When, seconds. Unless given, as early as running jobs and earlier reservations let it.

        Returns
        -------
        float
            When, seconds; infinite where it does not fit on what the machine offers.

        Raises
        ------
        DecisionError
            If it is not waiting, or does not fit from that time on; or if no pass is being made.
        """
    def hold(self, job: Job) -> None:
        """Take a waiting job out of the queue until it is released."""
    def release(self, job: Job) -> None:
        """Put a job that is on hold back into its place in the queue."""
    def kill(self, job: Job) -> None:
        """End a waiting or running job: its state is killed.

        Raises
        ------
        DecisionError
            If it is neither, was started in this very pass, or ends at this very instant.
        """
    def preempt(self, job: Job, mode: str = "requeue", every: float | None = None) -> None:
        """Put a running job back into the queue.

        Parameters
        ----------
        job
            The job; not started in this very pass, nor ending at this very instant.
        mode
            What it keeps of its run: "requeue", nothing, it runs again from its start; "suspend", everything,
            it goes on where it was; "from_checkpoint", what was done at its latest checkpoint.
        every
            Seconds of its run between two checkpoints.

        Raises
        ------
        DecisionError
            If it is not running, or cannot be preempted now.
        """
    def suspend(self, job: Job) -> None:
        """Take a running job from its nodes: it waits, and goes on where it was once it is started again.

        The same as `preempt(job, mode="suspend")`; `start` resumes it, on nodes that may be others.

        Parameters
        ----------
        job
            The job; not started in this very pass, nor ending at this very instant, and without an
            application.

        Raises
        ------
        DecisionError
            If it is not running, or cannot be preempted now.
        """
    def set_rate(self, job: Job, rate: float) -> None:
        """Serve a running job at a rate of its own from now on, whatever its nodes run at.

        Parameters
        ----------
        job
            The job; running, and neither being launched nor completed.
        rate
            Work per second, finite and >= 0; at 0 it keeps its nodes and waits.

        Raises
        ------
        DecisionError
            If it has no run that could be served at a rate, or carries an application.
        """
    def set_service_rate(self, rate: float, control: int = ...) -> None:
        """Serve jobs at another rate from now on on the nodes of a control.

        Parameters
        ----------
        rate
            Work per second, finite and >= 0.
        control
            Its place among those that were passed to the run as `control`.

        Raises
        ------
        DecisionError
            If there is no such control, or the rate is none.
        """
    def set_estimate(self, job: Job, seconds: float) -> None:
        """Set what a job's run time is taken to be: its estimate.

        Parameters
        ----------
        job
            The job; not done yet.
        seconds
            From its start, finite and >= 0.
        """
    def resize(
        self,
        job: Job,
        tasks: int | None = None,
        *,
        nodes: Iterable[int] | None = None,
        gpus: int | None = None,
    ) -> None:
        """Change the nodes of a running job whose application lets it.

        At once where it is at a scheduling point or asks for it, else from its next scheduling point on.

        Nodes that it gains are its own from now on. It loses its last ranks, and gains such nodes as the
        allocator chooses, unless they are given.

        Parameters
        ----------
        job
            The job; running.
        tasks
            How many tasks it is to have.
        nodes
            In place of that, one node per task, by rank.
        gpus
            With nodes, how many GPUs its application uses on each of them; as before unless given.

        Raises
        ------
        DecisionError
            If it does not run, cannot be resized or not to this size, or there is no room.
        """
    def set_runtime_arguments(self, job: Job, arguments: Mapping[str, float | str]) -> None:
        """Set arguments that the formulas of a job's application see from its next start or resizing on."""
    @property
    def at_scheduling_point(self) -> list[Job]:
        """The jobs that can be resized at this very instant, in the order in which they came there."""
    def get_trigger(self) -> tuple[CauseKind, int | None, int | None]:
        """Why the scheduler is asked: what happened, to which row, and how many tasks are asked for."""
    def drain(self, node: int) -> None:
        """Drain a node: no further job starts there; the jobs on it stay."""
    def resume(self, node: int) -> None:
        """Let jobs start on a drained node again."""
    def reserve_capacity(self, node: int, amounts: dict[str, int]) -> None:
        """Keep amounts of a node's resources from jobs, by name, in place of what was kept from them before."""
    def wake(self, time: float, *, watching: bool = False, repairing: bool = False) -> None:
        """Ask to be called at a time.

        Parameters
        ----------
        time
            Seconds; not before now.
        watching
            Only to watch: it keeps no run going, and no pass follows.
        repairing
            Only to let jobs start on nodes again, with ``resume``: it keeps a run going while a waiting job fits on
            the machine with all its nodes.

        Raises
        ------
        DecisionError
            If the time is before now, or a timer is to watch only and to repair.
        """

def read_swf_file(
    path: str | PathLike[str],
    *,
    overrun: OverrunAction,
    invalid: InvalidAction,
    processors: ProcessorField,
    use_memory: bool,
    log_events: bool,
    max_jobs: int | None = None,
) -> SwfColumns:
    """Reads a file, plain or gzip by its content."""

def node_ranges(
    offsets: NDArray[np.int64], nodes: NDArray[np.uint32], counts: NDArray[np.uint32] | None = None
) -> list[str]:
    """The nodes of every row as ranges; row i holds `nodes[offsets[i]..offsets[i + 1]]`, rising, each with as many that follow
    it as `counts` say, itself counted; itself alone unless given.
    """

@final
class AccountTree:
    """A tree of accounts and users: node 0 is the root, each other node comes after its parent."""

    def __new__(cls, members: list[tuple[int, float | None, bool]]) -> AccountTree: ...
    def totals(self, charged: NDArray[np.float64]) -> NDArray[np.float64]:
        """What was charged to each node itself, summed up to the root."""
    def standing(
        self, usage: NDArray[np.float64], rule: str, damping: float, least_usage: float
    ) -> list[NDArray[np.float64]]:
        """Normalised shares, normalised usage, effective usage, level fair share and factor of each node under a rule,
        from the usage of each node with its members'.
        """

@final
class AccountUsage:
    """What each node of a tree of accounts has used."""

    def __new__(
        cls, tree: AccountTree, decay: str, half_life: float, step: tuple[float, float], begin: float
    ) -> AccountUsage: ...
    def start(self, node: int, rate: float, start: float) -> None:
        """Charges a user `rate` per second from `start` (s) on."""
    def end(self, node: int, rate: float, start: float, now: float) -> None:
        """Stops charging what was started so."""
    def add(self, node: int, now: float, amount: float) -> None:
        """Adds past use to a node, and to all that it is part of."""
    def calculate(self, now: float) -> None:
        """Ends a period of calculation."""
    def usage(self, now: float) -> NDArray[np.float64]:
        """The usage of each node."""

def multifactor_priorities(
    settings: Mapping[str, object], jobs: NDArray[np.float64], resources: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]]:
    """The factors age and size, the sum and the priority of each job.

    `jobs` has a row for each job: seconds for which it is eligible, nodes, processors, requested time (s), the factors
    association, fair share, partition and quality of service, nice, site; `resources` the part of each resource that it
    asks for.
    """

def share_in_windows(own: list[float], total: list[float], decay: float) -> float:
    """The part of all use in windows, the newest first, that was one's own, in per cent; each window counts `decay` times the
    one after it.
    """

def target_delta(target: float, mark: str, usage: float) -> float:
    """Target minus usage, both in per cent; 0 above a target marked `+`, and below one marked `-`."""

def delays(
    arrival: NDArray[np.float64],
    service: NDArray[np.float64],
    servers: NDArray[np.int64],
    c: int,
) -> NDArray[np.float64]:
    """Delays (s) of jobs that wait, first come first served, for their servers all at once.

    Where a job breaks a rule, a `ValueError` has its row and the name of the rule: `arrival`, `order`, `service`, `servers`
    or `late`.
    """
