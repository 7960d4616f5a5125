from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Self, TypedDict, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from batchlab.simulation.view import Columns

__version__: str

class SwfColumns(TypedDict):
    rows: int
    lines: int
    done: bool
    comments: list[str]
    note_reason: NDArray[np.uint8]
    note_line: NDArray[np.int64]
    note_job_id: NDArray[np.int64]
    reasons: list[tuple[str, str]]
    line: NDArray[np.int64]
    columns: dict[str, NDArray[np.int64] | NDArray[np.float64]]

class JobColumns(TypedDict):
    submit_time: NDArray[np.float64]
    run_time: NDArray[np.float64]
    requested_time: NDArray[np.float64]
    tasks: NDArray[np.int64]
    amounts: list[int | NDArray[np.int64]]
    tasks_per_node: NDArray[np.int64] | None
    exclusive: NDArray[np.bool_] | None
    formula: list[tuple[str, NDArray[np.float64] | None]]
    misfits: NDArray[np.bool_] | None

class PolicyNames(TypedDict):
    order: str
    argument: str | None
    backfill: str
    allocator: str
    reservations: int
    seed: int

class Listening(TypedDict):
    estimates: bool
    changes: int
    every_instant: bool
    acting: bool

class InterruptionColumns(TypedDict):
    row: NDArray[np.uint32]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    saved: NDArray[np.float64]
    placement_offsets: NDArray[np.int64]
    placement_nodes: NDArray[np.uint32]
    placement_tasks: NDArray[np.uint32]
    allocated: NDArray[np.int64]

class OutcomeColumns(TypedDict):
    state: NDArray[np.uint8]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    placement_offsets: NDArray[np.int64]
    placement_nodes: NDArray[np.uint32]
    placement_tasks: NDArray[np.uint32]
    allocated: NDArray[np.int64]

class StatusColumns(TypedDict):
    state: NDArray[np.uint8]
    start_time: NDArray[np.float64]
    end_time: NDArray[np.float64]
    queue: NDArray[np.uint32]
    running: NDArray[np.uint32]
    placement_offsets: NDArray[np.int64]
    placement_nodes: NDArray[np.uint32]
    placement_tasks: NDArray[np.uint32]
    free: NDArray[np.int64]
    unused: NDArray[np.int64]
    closed: NDArray[np.bool_]

class StreamedMachine(TypedDict):
    resources: list[str]
    groups: list[tuple[int, list[int]]]
    processor: list[int]

class StreamNotes(TypedDict):
    read: int
    kept: int
    dropped: dict[str, int]
    mended: dict[str, int]
    noted: dict[str, int]

class StreamedRun(TypedDict):
    notes: StreamNotes
    metrics: dict[str, object]

@final
class SwfStream:
    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        overrun: str,
        invalid: str,
        processors: str,
        use_memory: bool,
    ) -> SwfStream: ...
    @property
    def comments(self) -> list[str]: ...
    def run(
        self,
        machine: StreamedMachine,
        policy: PolicyNames,
        *,
        walltime: str,
        order_at_instant: str,
        answer: str | PathLike[str] | None = None,
        progress: Callable[[int, float], object] | None = None,
    ) -> StreamedRun: ...

@final
class SwfParser:
    def __new__(
        cls,
        *,
        overrun: str,
        invalid: str,
        processors: str,
        use_memory: bool,
        max_jobs: int | None = None,
    ) -> SwfParser: ...
    def feed(self, piece: bytes) -> bool: ...
    def finish(self) -> SwfColumns: ...

@final
class Simulation:
    def __new__(
        cls,
        columns: JobColumns,
        capacity: NDArray[np.int64],
        core: int | None,
        policy: PolicyNames,
        *,
        walltime: str,
        order_at_instant: str,
        dispatch: bool,
        listening: Listening,
    ) -> Simulation: ...
    @property
    def now(self) -> float: ...
    @property
    def next_time(self) -> float | None: ...
    @property
    def finished(self) -> int: ...
    def step(self) -> bool: ...
    def run_until(self, time: float, progress: Callable[[int, float], object] | None = None) -> None: ...
    def drive_until(
        self,
        time: float,
        hooks: object,
        view: View,
        progress: Callable[[int, float], object] | None = None,
        instants: int = ...,
    ) -> bool: ...
    def fork(self) -> Simulation: ...
    def adopt(self, policy: PolicyNames) -> None: ...
    def believe_estimates(self) -> None: ...
    def run_times(self) -> NDArray[np.float64]: ...
    def interruptions(self) -> InterruptionColumns: ...
    def outcome(self) -> OutcomeColumns: ...
    def status(self) -> StatusColumns: ...
    def gauges(self) -> tuple[int, list[int]]: ...
    def dispatch(self) -> dict[str, NDArray[np.generic]] | None: ...

@final
class Job:
    @property
    def id(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def submit_time(self) -> float: ...
    @property
    def requested_time(self) -> float: ...
    @property
    def estimate(self) -> float: ...
    @property
    def tasks(self) -> int: ...
    @property
    def request(self) -> dict[str, int]: ...
    @property
    def demand(self) -> dict[str, int]: ...
    @property
    def exclusive(self) -> bool: ...
    @property
    def tasks_per_node(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def start_time(self) -> float | None: ...
    @property
    def end_time(self) -> float | None: ...
    @property
    def expected_end(self) -> float | None: ...
    @property
    def nodes(self) -> dict[int, int]: ...
    @property
    def run_time(self) -> float: ...
    # The workload's columns, whatever they hold.
    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __getattr__(self, name: str, /) -> Any: ...  # noqa: ANN401
    def __deepcopy__(self, memo: dict[int, object]) -> Job: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Queue:
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def estimate(self) -> NDArray[np.float64]: ...
    @property
    def demand(self) -> NDArray[np.int64]: ...
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
    def __deepcopy__(self, memo: dict[int, object]) -> Candidates: ...
    def __iter__(self) -> Candidates: ...
    def __next__(self) -> Job: ...

class Draw(TypedDict):
    idle: float
    busy: float
    closed: float
    per_unit: list[float]

class Warms(TypedDict):
    resistance: float
    capacity: float
    ambient: float
    initial: float

@final
class PowerMeter:
    def __new__(cls, view: View) -> PowerMeter: ...
    @property
    def power(self) -> float: ...
    @property
    def energy(self) -> float: ...
    @property
    def node_power(self) -> NDArray[np.float64]: ...
    @property
    def node_energy(self) -> NDArray[np.float64]: ...
    @property
    def job_energy(self) -> NDArray[np.float64]: ...
    @property
    def temperatures(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def measure(self, kinds: NDArray[np.uint32], draws: list[Draw]) -> None: ...
    def measure_temperature(self, warms: list[Warms]) -> None: ...
    def power_with(
        self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None
    ) -> float | None: ...

@disjoint_base
class View:
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
    def now(self) -> float: ...
    @property
    def clairvoyant(self) -> bool: ...
    @property
    def resources(self) -> list[str]: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def values(self) -> Mapping[str, Any]: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def running(self) -> list[Job]: ...
    @property
    def on_hold(self) -> list[Job]: ...
    @property
    def free(self) -> NDArray[np.int64]: ...
    @property
    def capacity(self) -> NDArray[np.int64]: ...
    @property
    def total_free(self) -> dict[str, int]: ...
    def candidates(self, after: Job | None = None) -> Candidates: ...
    def is_closed(self, node: int) -> bool: ...
    def jobs_on(self, node: int) -> list[Job]: ...
    def job(self, row: int) -> Job: ...
    def start(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> bool: ...
    def place(self, job: Job) -> dict[int, int] | None: ...
    def slots(self, job: Job, node: int) -> int: ...
    def reserve(self, job: Job, time: float | None = None) -> float: ...
    def hold(self, job: Job) -> None: ...
    def release(self, job: Job) -> None: ...
    def kill(self, job: Job) -> None: ...
    def preempt(self, job: Job, keep: str = "nothing", every: float | None = None) -> None: ...
    def set_estimate(self, job: Job, seconds: float) -> None: ...
    def resize(self, job: Job, tasks: int) -> None: ...
    def close(self, node: int) -> None: ...
    def open(self, node: int) -> None: ...
    def withhold(self, node: int, amounts: dict[str, int]) -> None: ...
    def wake(self, time: float, *, watching: bool = False) -> None: ...

def read_swf_file(
    path: str | PathLike[str],
    *,
    overrun: str,
    invalid: str,
    processors: str,
    use_memory: bool,
    max_jobs: int | None = None,
) -> SwfColumns: ...
def node_ranges(offsets: NDArray[np.int64], nodes: NDArray[np.uint32]) -> list[str]: ...
