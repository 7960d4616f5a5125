from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self, TypedDict, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from batchlab.application import Application as Description
from batchlab.core.vocabulary import (
    CauseKind,
    InvalidAction,
    JobState,
    JobType,
    OverrunAction,
    ProcessorField,
    StopKind,
)
from batchlab.options.run_inputs import RunInputs
from batchlab.seam.view import Columns

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
    parameters: dict[str, bool | float | str | list[float] | None]

class ServiceInputs(TypedDict):
    controls: list[ControlInput]
    control_of_node: NDArray[np.uint32] | None
    processors: list[float]
    key_events: bool

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

class RecordedColumns(TypedDict):
    application_time: NDArray[np.float64] | None
    events_applied: NDArray[np.bool_] | None
    waking_time: NDArray[np.float64] | None
    requested_time: NDArray[np.float64]
    time_limit: NDArray[np.float64] | None

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
    placement: AllocatorSettings

class ControllerSettings(TypedDict):
    parameters: dict[str, bool | float | str | None]
    core: int | None
    memory: int | None
    gpu: int | None
    weights: list[tuple[int, int]]

class ParameterRow(TypedDict):
    name: str
    kind: Literal["switch", "whole", "number", "word", "text", "numbers", "seed"]
    usual: bool | float | str | None
    usual_text: str
    least: float | None
    most: float | None
    above: float | None
    below: float | None
    below_parameter: str | None
    unit: str
    words: list[str]
    positional: bool
    requires: tuple[str, str] | None
    text: str
    source: str

class RuleRow(TypedDict):
    name: str
    summary: str
    source: str
    parameters: list[ParameterRow]
    needs: str

class AllocatorSettings(TypedDict):
    parameters: dict[str, bool | float | str | None]
    order: list[int] | None
    fabric: Fabric | None

class Listening(TypedDict):
    estimates: bool
    changes: int
    every_instant: bool

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

class MainThreadState(TypedDict):
    phase: float
    called: float | None
    called_for_all: float | None
    wanted: bool
    may_differ: bool
    met_no_room: bool
    loop_called: float | None
    put_off: bool | None

class BackfillThreadState(TypedDict):
    ended: float | None
    wakes: float
    changed: float | None
    may_differ: bool
    holds_until: float | None
    goes_on: bool
    length: float
    rests: bool

class KnownJob(TypedDict):
    row: int
    entered: float | None
    again: float | None
    victims: float | None
    uncalled: bool
    called: float | None
    ages_from: float | None
    over_time_limit: float | None

class ControllerColumns(TypedDict):
    main: MainThreadState
    backfill: BackfillThreadState | None
    weights: list[int]
    jobs: list[KnownJob]
    arrays: list[tuple[int, float]]

class InitialColumns(TypedDict):
    time: float
    decided: bool
    row: NDArray[np.uint32]
    state: NDArray[np.uint8]
    held: NDArray[np.bool_]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    reason: NDArray[np.uint8]
    saved: NDArray[np.float64]
    eligible_time: NDArray[np.float64]
    estimate: NDArray[np.float64]
    requested_time: NDArray[np.float64]
    priority: NDArray[np.float64]
    reserved_time: NDArray[np.float64]
    nodes: tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]
    reserved_nodes: tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]
    last_node: int | None
    drained: list[int] | None
    usage: list[tuple[int, float, float, float, float]]
    controller: ControllerColumns | None

class PresentColumns(InitialColumns):
    first_submission: float

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

class MachineColumns(TypedDict):
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
    log: dict[str, Any] | None
    asked: tuple[int, int]

@final
class SlurmController:
    """The part of a controller that does not change between calls."""

    def __new__(
        cls,
        parameters: dict[str, bool | float | str | None],
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
        """Run the main loop for the whole queue or its first entries: return the outcome of each entry, and the weights of
        nodes after the call.
        """
    def backfill(
        self, situation: object, weights: list[int]
    ) -> tuple[
        list[tuple[str, float | None, list[tuple[int, int, int, list[int]]] | None, list[int]]], list[int]
    ]:
        """Run backfill: return the outcome of each entry of the queue, and the weights of nodes after the call."""
    def submit(self, situation: object, weights: list[int]) -> list[int]:
        """Return the weights of nodes after the submission of these jobs."""

@final
class TableLog:
    """A recorded table."""

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, which are made at the first call."""

@final
class SwfStream:
    """An open log; its comments have been read up to the first job."""

    def __new__(cls, path: str | PathLike[str], options: SwfReading) -> SwfStream: ...
    @property
    def comments(self) -> list[str]:
        """The comments before the first job, and some after it."""
    def run(
        self,
        inputs: RunInputs,
        *,
        answer: str | PathLike[str] | None = None,
        progress: Callable[[int, float], object] | None = None,
        events: Iterator[list[tuple[float, str, int | None, list[tuple[int, int]], float | None, bool]]]
        | None = None,
        absent: Sequence[int] = ...,
        requeue: bool = True,
        overheads: StreamedOverheads | None = None,
    ) -> StreamedRun:
        """Simulate the log; `inputs` have no columns. `progress(finished, now)` is called occasionally, and `answer` is the
        path of the table of jobs.

        `events` is an iterator of lists of external events in time order, each (time, kind, job, ranges of nodes,
        value, kills), and is read during the run; the nodes of `absent` are missing at the beginning. Jobs may be
        requeued if `requeue` is true. `overheads` are sampled block by block.
        """

class LogFacts(TypedDict):
    """What a log that was read whole holds."""

    read: int
    kept: int
    mended_jobs: int
    without_limit: int
    with_memory: int
    first_submission: float
    last_submission: float

class SwfReading(TypedDict):
    """Options of reading a log."""

    overrun: OverrunAction
    invalid: InvalidAction
    processors: ProcessorField
    use_memory: bool
    log_events: bool
    max_jobs: int | None

@final
class SwfLog:
    """A log in the Standard Workload Format that is read entirely: a file, or pieces of bytes."""

    def __new__(cls, options: SwfReading) -> SwfLog: ...
    def read(self, path: str | PathLike[str]) -> None:
        """Read a file, plain or gzip by its content."""
    def feed(self, piece: bytes) -> bool:
        """Read the next piece; return whether more is needed."""
    def note_trailing_bytes(self) -> None:
        """Add a note that bytes after the end of a compressed log were ignored."""
    def finish(self) -> None:
        """End a log of pieces."""
    @property
    def comments(self) -> list[str]:
        """The comments."""
    @property
    def facts(self) -> LogFacts:
        """Numbers of jobs read, kept, kept with a changed value, with a time limit not known to be above the run time, and
        with requested memory; and the first and the last submit time.
        """
    def columns(self) -> SwfColumns:
        """Return the columns of the kept jobs, the comments, and the notes on lines; only once, because their memory is
        handed over.
        """
    def simulation(self, inputs: RunInputs) -> Simulation:
        """Create a simulation of the log that computes its measures while it runs; `inputs` have no columns."""
    def beside(self, simulation: Simulation, machine: MachineColumns) -> dict[str, object] | None:
        """Return the log's own schedule beside the simulated one, over the jobs that ran in both, like
        `batchlab.result.near`; None if there are no such jobs.
        """

@final
class Formula:
    """A formula of a performance model, parsed once.

    Parameters
    ----------
    formula
        Its text, in the subset of ExprTk described in docs/applications.md; or a number; or a formula.

    Raises
    ------
    ApplicationError
        If the text is not a formula; the message contains the position and the reason.

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
        """The text of the formula."""
    @property
    def number(self) -> float | None:
        """The number if the formula is a plain number, otherwise None."""
    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names in the formula, in order of appearance."""
    def __call__(self, **names: float | str) -> float:
        """Evaluate the formula with values of its names: numbers, or texts for comparisons."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Application:
    """An application, converted once from `batchlab.Application` for all jobs that run it."""

    def __new__(cls, description: Description) -> Application: ...

@final
class MessageProgram:
    """The flat program of a skeleton, rank by rank.

    Operation `i` is of kind 0 to 5 (send, receive, await the send, await the receive, compute, take); its amount is the
    message number, the floating-point operations or the seconds. Rank `r` executes the operations from `first[r]` to
    `first[r + 1]`. Message `m` is of class `classes[kinds[m]]`, and `envelope` bytes of its size are not payload. Raise
    `ValueError` if a list is inconsistent with the others.
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
        """Return the indices of the operations of ranks in a deadlock."""
    def run(
        self,
        platform: Platform,
        model: tuple[str, list[tuple[str, float]]],
        hosts: NDArray[np.uint32],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Run the program alone on a platform, rank `r` on host `hosts[r]`. Raise `ValueError` with the reason if it
        cannot run.
        """

@final
class RoundProgram:
    """The messages of an aggregated skeleton in rounds.

    Entry `i` is an operation as in `MessageProgram`, or of kind 6 the collective with the number `amount[i]`; rank `r`
    executes the entries from `first[r]` to `first[r + 1]`. The messages of batch `b` are those from `batches[b]` to
    `batches[b + 1]`; batch 0 contains the messages that ranks post individually, and the others are rounds of
    collectives. Collective `c` has the batches `rounds[j]` for `j` from `calls[c]` to `calls[c + 1]`. `overheads` are
    the seconds before a send and after a receive of a collective. Message `m` is of class `classes[kinds[m]]`, and
    `envelope` bytes of its size are not payload. Raise `ValueError` if a list is inconsistent with the others.
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
        """Return the indices of the entries of ranks in a deadlock."""
    def messages(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the message numbers round by round, and the round of each; a message may belong to several rounds."""
    def run(
        self,
        platform: Platform,
        model: tuple[str, list[tuple[str, float]]],
        hosts: NDArray[np.uint32],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Run the program alone on a platform, rank `r` on host `hosts[r]`. Raise `ValueError` with the reason if it
        cannot run.
        """

@final
class ApplicationJobs:
    """The properties of jobs, row by row, for the simulation."""

    def __new__(cls, columns: ApplicationJobColumns) -> ApplicationJobs: ...
    def __len__(self) -> int: ...

@final
class Fabric:
    """Nodes by their positions in a torus, tree or dragonfly."""

    def __new__(cls, kind: str, sizes: Sequence[int], places: Sequence[int]) -> Fabric: ...
    def __len__(self) -> int: ...
    def hops(self, source: int, target: int) -> int:
        """Return the number of hops from one node to another."""

@final
class VirtualClock:
    """A clock that the processes of a virtual cluster share; see `batchlab.slurm.virtual.clock`."""

    def __new__(cls, path: str | PathLike[str], highest: float, unix: int) -> VirtualClock: ...
    def now(self) -> float:
        """Return the virtual UNIX time, seconds."""

    def set_rate(self, rate: float) -> None:
        """Set the rate of virtual time from now on."""

    def hold(self) -> None:
        """Keep real time until `release` was called as often as `hold`."""

    def release(self) -> None:
        """End a `hold`."""

    def wait(self, instant: float, longest: float) -> bool:
        """Wait for a virtual instant (UNIX time, s), or for a real time (s). Return whether the instant has come."""

    def govern(self) -> None:
        """Set the rate by the work of the processes, on a separate thread, until `end`."""

    def end(self) -> None:
        """End the thread."""

    def course(self) -> tuple[float, float, float, int]:
        """Return the totals since the start: real and virtual time (s), the real time at rate 1, and the number of rate
        changes.
        """

@final
class Simulation:
    """A replay of a workload: the compiled half of `batchlab.Simulation`."""

    def __new__(cls, inputs: RunInputs) -> Simulation:
        """Build the simulation of a run from its description."""
    def metrics(self, resources: Sequence[str]) -> dict[str, object] | None:
        """Return the measures computed during a run that has ended, with the names of `batchlab.metrics.overview`; only
        once, and None if none were computed. Raise `OSError` if the temporary file for many jobs fails.
        """
    @property
    def now(self) -> float:
        """The current time, seconds."""
    @property
    def next_time(self) -> float | None:
        """The time of the next event, or None at the end."""
    @property
    def finished(self) -> int:
        """Number of jobs that have ended or were rejected so far."""
    def step(self) -> bool:
        """Process all events of the next instant, without hooks; return False if no event was left."""
    def run_until(self, time: float, progress: Callable[[int, float], object] | None = None) -> None:
        """Process all events until `time`, inclusive, without hooks. `progress(finished, now)` is called occasionally, and
        may read this simulation.
        """
    def drive_until(
        self,
        time: float,
        hooks: object,
        view: View,
        progress: Callable[[int, float], object] | None = None,
        instants: int = ...,
    ) -> StopKind:
        """Run until a time, inclusive, and call the hooks; for at most `instants` instants. Return the reason of the stop:
        "over", "instants", or "decision" if there is no hook that decides. In that case the caller decides, and then
        calls `end_decision`.
        """
    def tell_changes(self, hooks: object, view: View) -> None:
        """Report the changes since the last report to the hooks; also possible during a pass."""
    def end_decision(self) -> None:
        """End the pass in which the caller decides; otherwise the decision is requested again."""
    def fork(self) -> Simulation:
        """Return an independent copy of the current state."""
    def snapshot(self) -> bytes:
        """Return the current state as bytes."""
    def restore(self, data: bytes) -> None:
        """Continue from a snapshot of a simulation of the same jobs, system, policy and options."""
    def begin_in(self, columns: InitialColumns) -> None:
        """Begin in a state, before the first event. Raise `ValueError` with the row of a job, or None, and the rule that the
        state breaks; the simulation cannot be used then.
        """
    def initial_state(self) -> PresentColumns:
        """Return the present state, in which another simulation can begin. Raise `ValueError` with the row of a job, or
        None, and the reason if there is none.
        """
    def adopt(self, policy: PolicyNames) -> None:
        """Continue with another policy, beginning with a pass at this instant."""
    def assume_estimates(self) -> None:
        """Make every job run for its estimate from now on, without further submissions."""
    def replace_run_times(self, rows: NDArray[np.uint32], seconds: NDArray[np.float64]) -> None:
        """Replace the true run times of jobs, by row, seconds. `ValueError(position, reason)` if one is refused."""
    def close_feed(self) -> None:
        """Stop the submissions and the external events of the workload."""
    def replace_arrivals(
        self,
        arrivals: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64]],
    ) -> None:
        """Submit jobs that have ended, or are not yet submitted, and no others from now on. `ValueError(position, reason)`
        if one is refused.
        """
    def times_run(self, rows: NDArray[np.uint32]) -> list[float]:
        """Return how long each of these jobs has run, seconds of completed work that it keeps, by row."""
    def sample_starts(
        self,
        rows: NDArray[np.uint32],
        run_times: NDArray[np.float64],
        asked: NDArray[np.uint32],
        until: float,
        threads: int,
    ) -> NDArray[np.float64]:
        """Simulate samples that differ in the run times of `rows`, until the jobs `asked` have started, and at most until
        `until`. Return the starts, infinite if a job does not start in time: shape (samples, asked).
        `ValueError(position, reason)` if a run time is refused.
        """
    def run_times(self) -> NDArray[np.float64]:
        """Return the run time of every job, seconds; in a look ahead, the known or assumed one."""
    def outcome(self) -> OutcomeColumns:
        """Return the results of every job so far: columns by name."""
    def status(self, latest: int) -> StatusColumns:
        """Return the waiting jobs, the running jobs with their nodes, and the free amounts; and the nodes of the `latest`
        jobs that ended last.
        """
    def recorded(self) -> RecordedColumns:
        """Return further results of every job, by the names of the fields of an outcome; None for those that were not
        recorded.
        """
    def logs(self) -> dict[str, TableLog]:
        """Return the tables of the recorders by name."""
    def tables(self) -> dict[str, dict[str, Any]]:
        """Return the other recorded tables by name, as columns."""
    def gauges(self) -> tuple[int, list[int]]:
        """Return the number of waiting jobs, and the total free amount of each resource."""

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
        """Submit time, seconds."""
    @property
    def time_limit(self) -> float:
        """Time limit, seconds; infinity if it has none."""
    @property
    def requested_time(self) -> float:
        """The time with which schedulers plan, seconds; infinity if unknown."""
    @property
    def estimate(self) -> float:
        """The estimate of its run_time, seconds: requested_time, or the value of a predictor."""
    @property
    def saved_time(self) -> float:
        """Work kept from interrupted runs: seconds that need not be repeated."""
    @property
    def tasks(self) -> int:
        """Number of tasks of its running application, or of its allocation if it runs; otherwise the requested number."""
    @property
    def tasks_min(self) -> int:
        """The least number of tasks that it can have."""
    @property
    def tasks_max(self) -> int:
        """The greatest number of tasks that it can have."""
    @property
    def job_type(self) -> JobType:
        """Its type: "rigid", "moldable", "malleable", "evolving" or "adaptive"."""
    @property
    def is_resizable(self) -> bool:
        """True if it is running and can be resized, at its scheduling points or at this instant."""
    @property
    def has_application(self) -> bool:
        """True if it has an application that determines its run time; the work of an application cannot be kept."""
    @property
    def ranks(self) -> list[int]:
        """Its nodes by rank, one per task; empty if no application is running."""
    @property
    def pending_ranks(self) -> list[int] | None:
        """Its nodes by rank from its next scheduling point on; None if no change is pending."""
    @property
    def requested_tasks(self) -> int | None:
        """Number of tasks that it requests at this instant; None without a request."""
    @property
    def progress(self) -> tuple[int, int] | None:
        """Number of completed iterations of its phases, and their total number; None if no application is running."""
    @property
    def is_preparing(self) -> bool:
        """True during the stage at its start, or after its nodes changed."""
    @property
    def request(self) -> dict[str, int]:
        """The request of each task on one node, by resource."""
    @property
    def demand(self) -> dict[str, int]:
        """The total request, by resource."""
    @property
    def exclusive(self) -> bool:
        """True if it occupies whole idle nodes."""
    @property
    def tasks_per_node(self) -> int:
        """Maximum number of its tasks per node; 0 for no limit."""
    @property
    def node_group(self) -> str | None:
        """The node groups that it may use, as in the workload: "cpu|fat"; None for all nodes."""
    @property
    def state(self) -> JobState:
        """Its state: "loaded", "queued", "running", "completed", "killed" or "rejected"."""
    @property
    def start_time(self) -> float | None:
        """Start time, seconds; None if it has not started."""
    @property
    def end_time(self) -> float | None:
        """End time, seconds; None if it has not ended."""
    @property
    def expected_end(self) -> float | None:
        """Expected end, seconds, never before now; None if it is not running."""
    @property
    def nodes(self) -> dict[int, int]:
        """The nodes that it runs or ran on, with the number of its tasks on each."""
    @property
    def run_time(self) -> float:
        """True duration, seconds: available for a finished job, or if the policy is clairvoyant."""
    # The workload's columns, whatever they hold.
    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __getattr__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __deepcopy__(self, memo: dict[int, object]) -> Job: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Queue:
    """The waiting jobs in order, or the first of them; columns by name, one value per job."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the waiting jobs in the workload, in order: int64."""
    @property
    def estimate(self) -> NDArray[np.float64]:
        """What their run times are taken to be, seconds: float64."""
    @property
    def demand(self) -> NDArray[np.int64]:
        """What they ask in all of each resource: int64, shape (jobs, resources)."""
    def head(self, count: int) -> Queue:
        """The queue of the first `count` waiting jobs, with their columns; all where fewer wait. What it takes grows with `count`,
        not with the queue.
        """
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
        """The names of the hosts, in order."""
    @property
    def links(self) -> list[tuple[str, float, float, bool]]:
        """Name, bandwidth (bytes per second) and latency (seconds) of each link; and true if flows do not share it."""
    def route(self, source: int, target: int) -> tuple[list[int], float] | None:
        """Return the numbers of the links from one host to another, and their latency (seconds); None if there is no
        route.
        """

class ParallelTask(TypedDict):
    hosts: list[int]
    flops: list[float]
    bytes: list[float]

def describe(values: NDArray[np.float64]) -> dict[str, float | None]:
    """Return mean, median, 95th and 99th percentile and maximum of finite numbers, as a run computes them; None without
    numbers.
    """

def total(values: NDArray[np.float64]) -> float:
    """Return the sum of numbers with compensation of rounding errors, as a run computes it."""

def map_ranks(
    matrix: NDArray[np.float64], nodes: NDArray[np.uint32], hops: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Map ranks to places such that the hop-bytes of their messages decrease; return the node of each rank, given the node
    of each place. `matrix[r, s]`: bytes from rank `r` to rank `s`; `hops[a, b]`: hops from node `a` to node `b`.
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
    """Run the application of job `row` alone from `begin` on, rank `r` on host `hosts[r]`, with this number of GPUs of
    each host; return its duration in seconds. Raise `ValueError` with the reason if it cannot run.
    """

def network_models() -> list[tuple[str, str, bool, list[str]]]:
    """Return the network models in order."""

def rules() -> dict[str, list[RuleRow]]:
    """Return the built-in rules by kind, `order`, `control`, `backfill`, `discipline`, `allocator` or `fair_share`: for each
    the name, a description in one line, the publication that defines it, empty for folklore, its parameters, and what it
    needs: a kind of network, or data of the jobs.
    """

def names() -> dict[str, list[str]]:
    """Return names in the order of their numbers: of the states and types of jobs, of the reasons for rejection and
    waiting, of the gates of waiting jobs, of the causes that move promised starts, of the parameters that stop calls of
    Slurm's controller, of the options `walltime`, `job_check` and `order_at_instant`, of the observer methods for each
    kind of change, of the kinds of external events, and of the events examined by controls of rates.
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
    """Return the end of each flow or task, seconds.

    Rows with source -1 are the parallel tasks, in order. The caller must have validated all values. Raise `LookupError`
    with the row and the numbers of the two hosts if there is no route.
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

def watts_by_mode(draw: Draw) -> list[float]:
    """Return the watts of a node in each mode, without those of the units that jobs hold: idle, busy, drained, and each
    power state other than on.
    """

@final
class PowerMeter:
    """Reads the meter of the simulation of a view."""

    def __new__(cls, view: View) -> PowerMeter: ...
    @property
    def power(self) -> float:
        """Current power of all nodes, watts."""
    @property
    def energy(self) -> float:
        """Energy of all nodes so far, joules."""
    @property
    def node_power(self) -> NDArray[np.float64]:
        """Current power of each node, watts."""
    @property
    def node_energy(self) -> NDArray[np.float64]:
        """Energy of each node so far, joules."""
    @property
    def spent(self) -> list[list[tuple[float, float]]]:
        """Energy (joules) and time (seconds, summed over nodes) of the nodes of each kind so far: idle, busy, drained, and
        in each of the power states other than on.
        """
    @property
    def job_energy(self) -> NDArray[np.float64]:
        """Energy of each job so far, joules."""
    @property
    def temperatures(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Temperature of each node now and its maximum so far, degrees Celsius; empty if not computed."""
    @property
    def steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The power as a step function: times, and watts from each time on; the last time is now."""
    def measure(self, kinds: NDArray[np.uint32], draws: list[list[Draw]], rates: list[list[float]]) -> None:
        """Measure power from now on. `kinds` is the index of each node's kind in `draws`, which contains the power of a
        kind at each of its `rates`; or one entry, and no rates, if the rates do not matter.
        """
    def rates_of(self, node: int) -> list[float]:
        """Return the rates at which a node may be served by its control; 1 if it has none."""
    def measure_temperature(self, warms: list[Warms]) -> None:
        """Also compute temperatures of the nodes: one entry per kind of node."""
    def power_with(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> float | None:
        """Return the power of all nodes after the start of a job, watts; None if it does not fit."""

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
        """The current time, seconds."""
    @property
    def first_submission(self) -> float:
        """The submit time of the first job, seconds: the origin of sums, averages and intervals."""
    @property
    def revision(self) -> int:
        """A counter of changes of the state. Equal values in two passes mean that nothing has changed that a decision may
        depend on, except `now`, the progress of applications, and the set of jobs at scheduling points.

        It increases with each event, decision and change of a node, and with time if limits count minutes or the order
        changes with time. A fork or a snapshot continues from its value. Compare it for equality only.
        """
    @property
    def clairvoyant(self) -> bool:
        """True if jobs show their true run times."""
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
        """The held jobs, by row."""
    @property
    def free(self) -> NDArray[np.int64]:
        """Free amounts of each node: int64, shape (nodes, resources)."""
    @property
    def capacity(self) -> NDArray[np.int64]:
        """Capacity of each node: int64, shape (nodes, resources)."""
    @property
    def total_free(self) -> dict[str, int]:
        """Total free amounts, by resource."""
    def candidates(self, after: Job | None = None) -> Candidates:
        """Iterate over the waiting jobs that may start now, in order, by an index.

        Jobs with a demand above the free totals, and jobs with a reservation in this pass, are skipped.

        Parameters
        ----------
        after
            Only jobs after this one.

        Returns
        -------
        iterator of Job
        """
    @property
    def available(self) -> NDArray[np.int64]:
        """Available capacity of each node, free or not: int64, shape (nodes, resources)."""
    @property
    def total_available(self) -> dict[str, int]:
        """Total available capacity, free or not, by resource."""
    def max_additional_tasks(self, job: Job, limit: int) -> int:
        """Return the number of further tasks of a job that fit now, up to a limit.

        Tasks that a running job was to lose at its next scheduling point, and could keep, count too.
        """
    def flow_on(self, link: int) -> float:
        """Return the bytes per second on a link of the platform, given by number."""
    def work_on(self, node: int) -> tuple[float, list[bool]]:
        """Return the operations per second on a node's CPU, and for each of its GPUs whether it is busy (empty without
        applications).
        """
    def is_drained(self, node: int) -> bool:
        """Return whether a node is drained, i.e. no further job starts there."""
    def power_state_number(self, node: int) -> int:
        """Return the number of a node's power state among the states of its group; 0 for on."""
    def jobs_on(self, node: int) -> list[Job]:
        """Return the running jobs with tasks on a node, by expected end."""
    def job(self, row: int) -> Job:
        """Return the job in a row of the workload."""
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
            Its nodes: the number of tasks by node, or one node per task, by rank. By default the allocator chooses.
        tasks
            Number of tasks, for a job that is not rigid; its requested number by default.
        gpus
            Number of GPUs that its application uses on each node; the requested number per task by default.

        Returns
        -------
        bool
            False, and nothing changes, if the job does not fit now, or would delay a reservation.

        Raises
        ------
        DecisionError
            If the job is not waiting, or cannot be placed on these nodes; or if no pass is running.
        """
    def place(self, job: Job) -> dict[int, int] | None:
        """Return the nodes that the allocator would choose for a job now, ignoring reservations.

        Returns
        -------
        dict or None
            The number of tasks by node; None if the job does not fit.
        """
    def limit_over(self, job: Job, tasks: int | None = None) -> int | None:
        """Return the number of the first limit that prevents the start of a waiting job on this number of tasks now."""
    def _work_left(self, job: Job) -> float | None:
        """Return how long a job must still run on its nodes without an interruption, seconds; None if that depends on more
        than its run time. For batchlab's own observers: run times are hidden from policies.
        """
    def slots(self, job: Job, node: int) -> int:
        """Return the number of tasks of a job that a node admits now."""
    def reserve(self, job: Job, time: float | None = None) -> float:
        """Make a reservation for a waiting job until the end of this pass: no job starts that would delay it.

        Parameters
        ----------
        job
            The job. An existing reservation is changed.
        time
            Time of the reservation, seconds. By default the earliest time allowed by running jobs and earlier
            reservations.

        Returns
        -------
        float
            Time of the reservation, seconds; infinity if the job does not fit on the available capacity.

        Raises
        ------
        DecisionError
            If the job is not waiting, or does not fit from that time on; or if no pass is running.
        """
    def hold(self, job: Job) -> None:
        """Hold a waiting job: it leaves the queue until it is released."""
    def release(self, job: Job) -> None:
        """Release a held job: it returns to its place in the queue."""
    def kill(self, job: Job) -> None:
        """Kill a waiting or running job: its state becomes killed.

        Raises
        ------
        DecisionError
            If it is neither waiting nor running, was started in this pass, or ends at this instant.
        """
    def preempt(self, job: Job, mode: str = "requeue", every: float | None = None) -> None:
        """Preempt a running job: it returns to the queue.

        Parameters
        ----------
        job
            The job; not started in this pass, and not ending at this instant.
        mode
            The work that it keeps: "requeue", none, it runs again from its start; "suspend", all, it continues where it
            was; "from_checkpoint", the work up to its latest checkpoint.
        every
            Seconds of its run between two checkpoints.

        Raises
        ------
        DecisionError
            If it is not running, or cannot be preempted now.
        """
    def suspend(self, job: Job) -> None:
        """Suspend a running job: it releases its nodes and waits, and continues where it was when it is started again.

        Equivalent to `preempt(job, mode="suspend")`; `start` resumes the job, possibly on other nodes.

        Parameters
        ----------
        job
            The job; not started in this pass, not ending at this instant, and without an application.

        Raises
        ------
        DecisionError
            If it is not running, or cannot be preempted now.
        """
    def set_rate(self, job: Job, rate: float) -> None:
        """Set the service rate of a running job from now on, independent of the rate of its nodes.

        Parameters
        ----------
        job
            The job; running, and not in its launch or completion phase.
        rate
            Work per second, finite and >= 0; at 0 the job keeps its nodes and does not progress.

        Raises
        ------
        DecisionError
            If the job is not being served, or has an application.
        """
    def set_service_rate(self, rate: float, control: int = ...) -> None:
        """Set the service rate of the nodes of a control from now on.

        Parameters
        ----------
        rate
            Work per second, finite and >= 0.
        control
            Its index in the argument `control` of the run.

        Raises
        ------
        DecisionError
            If there is no such control, or the rate is invalid.
        """
    def set_estimate(self, job: Job, seconds: float) -> None:
        """Set the estimate of a job's run time.

        Parameters
        ----------
        job
            The job; not finished.
        seconds
            Seconds from its start, finite and >= 0.
        """
    def resize(
        self,
        job: Job,
        tasks: int | None = None,
        *,
        nodes: Iterable[int] | None = None,
        gpus: int | None = None,
    ) -> None:
        """Change the nodes of a running job with an application that allows it.

        The change is immediate if the job is at a scheduling point or requests it; otherwise it takes effect at its
        next scheduling point.

        Added nodes are allocated to the job from now on. By default the job loses its last ranks, and the allocator
        chooses the nodes that it gains.

        Parameters
        ----------
        job
            The job; running.
        tasks
            New number of tasks.
        nodes
            Instead of `tasks`, one node per task, by rank.
        gpus
            With `nodes`, the number of GPUs that the application uses on each of them; unchanged by default.

        Raises
        ------
        DecisionError
            If the job is not running, cannot be resized or not to this size, or the nodes are not free.
        """
    def set_runtime_arguments(self, job: Job, arguments: Mapping[str, float | str]) -> None:
        """Set arguments that the formulas of a job's application use from its next start or resize on."""
    @property
    def at_scheduling_point(self) -> list[Job]:
        """The jobs that can be resized at this instant, in the order in which they became resizable."""
    def get_trigger(self) -> tuple[CauseKind, int | None, int | None]:
        """The event for which the scheduler is called: its kind, its row, and the requested number of tasks."""
    def drain(self, node: int) -> None:
        """Drain a node: no further job starts there; its running jobs continue."""
    def resume(self, node: int) -> None:
        """Resume a drained node: jobs may start on it again."""
    def reserve_capacity(self, node: int, amounts: dict[str, int]) -> None:
        """Withhold amounts of a node's resources from jobs, by name, in place of those withheld before."""
    def wake(self, time: float, *, watching: bool = False, repairing: bool = False) -> None:
        """Request a call at a given time.

        Parameters
        ----------
        time
            Seconds; not before now.
        watching
            Only observe: the timer does not keep the run going, and no pass follows.
        repairing
            Only resume nodes, with ``resume``: the timer keeps the run going while a waiting job fits on the machine
            with all its nodes.

        Raises
        ------
        DecisionError
            If the time is before now, or a timer is both watching and repairing.
        """

def prepare_arrays() -> None:
    """Finds what this module needs of `NumPy`, which panics when Ctrl-C breaks it off.

    Without this call, the first array that is read or made does it. The package calls it while Ctrl-C waits.
    """

def node_ranges(
    offsets: NDArray[np.int64], nodes: NDArray[np.uint32], counts: NDArray[np.uint32] | None = None
) -> list[str]:
    """Return the nodes of every row as ranges. Row i has the nodes `nodes[offsets[i]..offsets[i + 1]]`, ascending; each
    stands for `counts` consecutive nodes beginning with itself, 1 by default.
    """

@final
class AccountTree:
    """A tree of accounts and users: node 0 is the root, each other node comes after its parent."""

    def __new__(cls, members: list[tuple[int, float | None, bool]]) -> AccountTree: ...
    def totals(self, charged: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the charges of the nodes up to the root: the result includes the charges of members."""
    def standing(
        self, usage: NDArray[np.float64], rule: str, damping: float, least_usage: float
    ) -> list[NDArray[np.float64]]:
        """Return normalised shares, normalised usage, effective usage, level fair share and factor of each node under a
        rule. `usage` is the usage of each node including its members.
        """

@final
class AccountUsage:
    """The usage of each node of an account tree."""

    def __new__(
        cls, tree: AccountTree, decay: str, half_life: float, step: tuple[float, float], begin: float
    ) -> AccountUsage: ...
    def start(self, node: int, rate: float, start: float) -> None:
        """Charge a user `rate` per second from `start` (s) on."""
    def end(self, node: int, rate: float, start: float, now: float) -> None:
        """Stop a charge that was started with the same arguments."""
    def add(self, node: int, now: float, amount: float) -> None:
        """Add past usage to a node, and to all of its ancestors."""
    def calculate(self, now: float) -> None:
        """End a period of calculation."""
    def usage(self, now: float) -> NDArray[np.float64]:
        """Return the usage of each node."""

def multifactor_priorities(
    settings: Mapping[str, object], jobs: NDArray[np.float64], resources: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]]:
    """Return the age and size factors, the sum and the priority of each job.

    `jobs` has a row for each job: seconds since it became eligible, nodes, processors, requested time (s), the factors
    association, fair share, partition and quality of service, nice, site. `resources` is the requested fraction of each
    resource.
    """

def share_in_windows(own: list[float], total: list[float], decay: float) -> float:
    """Return the share of `own` in `total` usage in windows, newest first, per cent; the weight of a window is `decay`
    times the weight of the next newer window.
    """

def target_delta(target: float, mark: str, usage: float) -> float:
    """Return target minus usage, both in per cent; 0 for usage above a target marked `+`, or below one marked `-`."""

def delays(
    arrival: NDArray[np.float64],
    service: NDArray[np.float64],
    servers: NDArray[np.int64],
    c: int,
) -> NDArray[np.float64]:
    """Return the delays (s) of jobs that wait, first come first served, for all of their servers at once.

    Raise `ValueError` for a job that breaks a rule, with its row and the name of the rule: `arrival`, `order`,
    `service`, `servers` or `late`.
    """
