from collections.abc import Callable
from os import PathLike
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

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
    ) -> Simulation: ...
    @property
    def now(self) -> float: ...
    @property
    def next_time(self) -> float | None: ...
    @property
    def finished(self) -> int: ...
    def step(self) -> bool: ...
    def run_until(self, time: float, progress: Callable[[int, float], object] | None = None) -> None: ...
    def fork(self) -> Simulation: ...
    def outcome(self) -> OutcomeColumns: ...
    def status(self) -> StatusColumns: ...
    def gauges(self) -> tuple[int, list[int]]: ...
    def dispatch(self) -> dict[str, NDArray[np.generic]] | None: ...

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
