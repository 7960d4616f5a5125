"""The tasks of applications.

Each rank of a job (usually one per node) executes the tasks of its phase in order. Amounts are totals S,
specified by a number or a :class:`batchlab.Formula`, and distributed over the n ranks of the job by a
pattern; docs/applications.md lists all patterns.

>>> from batchlab import tasks
>>> tasks.Compute(flops="8e12 / num_nodes", computation_pattern="uniform").flops
Formula('8e12 / num_nodes')
>>> tasks.Write(bytes=1e9, pattern="root_only", asynchronous=True).storage
'parallel_file_system'
"""

from collections import abc
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from batchlab.application.rules import (
    MATRIX,
    PAIR_PATTERNS,
    RANK_PATTERNS,
    VECTOR,
    Amounts,
    Number,
    PairPattern,
    RankPattern,
    amounts,
    count,
    instance,
    is_explicit,
    sequence,
    set_field,
    truth,
)
from batchlab.core.lazy import make_dir
from batchlab.errors import ApplicationError, shown, suggest

__all__ = ["BusyWait", "Compute", "Delay", "Gpu", "Idle", "Read", "Sequence", "Task", "Write"]

__dir__ = make_dir(__name__)

Storage = Literal["parallel_file_system", "burst_buffer", "cache"]

STORAGES: tuple[Storage, ...] = get_args(Storage)
# Limits the recursion depth of code that traverses applications.
_DEEPEST = 50


@dataclass(frozen=True, kw_only=True)
class Task:
    """Base class of tasks; all tasks have its parameters.

    Parameters
    ----------
    name
        The name in outputs.
    iterations
        Number of repetitions, a formula or a number; fractions are truncated.
    synchronized
        Whether all ranks of the job synchronise before every iteration.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    name: str = ""
    iterations: Number = 1
    synchronized: bool = False

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        instance(self.name, str, "name", "a text")
        set_field(self, "iterations", count(self.iterations, "iterations"))
        truth(self.synchronized, "synchronized")


@dataclass(frozen=True)
class _Work(Task):
    """A task with computation, communication, or both."""

    flops: Amounts | None = None
    computation_pattern: RankPattern | Literal["vector"] | None = None
    bytes: Amounts | None = None
    communication_pattern: PairPattern | Literal["matrix"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.flops is None and self.bytes is None:
            raise ApplicationError("there is nothing to do; must give flops, bytes, or both.")
        self._spread("flops", "computation_pattern", RANK_PATTERNS, VECTOR)
        self._spread("bytes", "communication_pattern", PAIR_PATTERNS, MATRIX)

    def _spread(self, name: str, pattern_name: str, patterns: tuple[str, ...], explicit: str) -> None:
        value, pattern = getattr(self, name), getattr(self, pattern_name)
        if value is None:
            if pattern is not None:
                raise ApplicationError(
                    f"{pattern_name} = {shown(pattern)} without {name}; give both or none."
                )
            return
        total, pattern = amounts(value, name, pattern, pattern_name, patterns=patterns, explicit=explicit)
        set_field(self, name, total)
        set_field(self, pattern_name, pattern)


@dataclass(frozen=True)
class Compute(_Work):
    """Compute on the CPUs and send messages, both concurrently.

    Without coupling, every rank begins to compute when it arrives, messages begin when the last rank has
    arrived, and the task ends with the longer of both. With coupling, computation and messages progress in
    lock-step, so that all amounts complete at the same time.

    Parameters
    ----------
    flops
        Floating-point operations: a total, or one number per rank (rigid jobs only).
    computation_pattern
        The distribution: ``"uniform"`` (S each), ``"all_ranks"`` (S/n each), ``"root_only"``,
        ``"even_ranks"``, ``"odd_ranks"``; ``"vector"`` for one number per rank.
    bytes
        Bytes between ranks: a total, or one number per ordered pair in row-major order (rigid jobs only).
    communication_pattern
        The distribution: ``"all_to_all"``, ``"ring"``, ``"ring_clockwise"``, ``"ring_counter_clockwise"``,
        ``"gather"``, ``"scatter"``, ``"master_worker"``; ``"matrix"`` for one number per pair.
    coupled
        Whether both progress in lock-step.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule, or there is neither computation nor communication.
    """

    coupled: bool = False

    kind: ClassVar[str] = "compute"

    def __post_init__(self) -> None:
        super().__post_init__()
        truth(self.coupled, "coupled")


@dataclass(frozen=True)
class Gpu(_Work):
    """Compute on the GPUs and send messages between them, both concurrently.

    Parameters
    ----------
    flops
        Floating-point operations: a total, or one number per rank (rigid jobs only); the amount of a rank is
        divided evenly among its GPUs.
    computation_pattern
        As for :class:`Compute`.
    bytes
        Bytes between all GPUs of the job: a total.
    communication_pattern
        As for :class:`Compute`, except for a matrix; with several GPUs per node only ``"all_to_all"`` and the
        rings.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule, or there is neither computation nor communication.
    """

    kind: ClassVar[str] = "gpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.communication_pattern == MATRIX:
            raise ApplicationError("communication_pattern = 'matrix'; must spread a total between GPUs.")


@dataclass(frozen=True)
class _Transfer(Task):
    """A transfer from or to storage."""

    bytes: Amounts
    pattern: RankPattern | Literal["vector"] | None = None
    storage: Storage = "parallel_file_system"
    asynchronous: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _spread_over_ranks(self, "bytes")
        if self.storage not in STORAGES:
            known = suggest(str(self.storage), STORAGES)
            raise ApplicationError(f"storage = {shown(self.storage)}; must be one of these.{known}")
        truth(self.asynchronous, "asynchronous")


@dataclass(frozen=True)
class Read(_Transfer):
    """Read from storage.

    Parameters
    ----------
    bytes
        A total, or one number per rank (rigid jobs only).
    pattern
        The distribution of the bytes over the ranks, as ``computation_pattern`` of :class:`Compute`.
    storage
        ``"parallel_file_system"``, ``"burst_buffer"`` for the disks of the nodes (or striping over them), or
        ``"cache"``: the disk of a node as a cache of the file system, to which written data migrate.
    asynchronous
        Whether the ranks continue meanwhile; completion is awaited at the next barrier of the phase, or at
        the end of the sequence.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    kind: ClassVar[str] = "read"


@dataclass(frozen=True)
class Write(_Transfer):
    """Write to storage; the parameters are those of :class:`Read`."""

    kind: ClassVar[str] = "write"


@dataclass(frozen=True)
class Idle(Task):
    """Wait without using resources.

    Parameters
    ----------
    seconds
        Duration: a number or formula, or one number per rank (rigid jobs only).
    pattern
        The distribution of the time over the ranks, as ``computation_pattern`` of :class:`Compute`; by
        default each rank waits for the total.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    seconds: Amounts
    pattern: RankPattern | Literal["vector"] | None = None

    kind: ClassVar[str] = "idle"

    def __post_init__(self) -> None:
        super().__post_init__()
        _spread_over_ranks(self, "seconds", otherwise="uniform")


@dataclass(frozen=True)
class BusyWait(Idle):
    """Compute for the given time on an exclusive CPU; the parameters are those of :class:`Idle`.

    Jobs that share a node also share its CPU, so their waits take longer.
    """

    kind: ClassVar[str] = "busy_wait"


@dataclass(frozen=True)
class Delay(Task):
    """Synchronise all ranks, and then wait for a common time.

    Parameters
    ----------
    seconds
        Duration: a number or formula.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    seconds: Number
    synchronized: bool = field(default=True, kw_only=True)

    kind: ClassVar[str] = "idle"
    pattern: ClassVar[RankPattern] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.synchronized:
            raise ApplicationError("synchronized = False; a delay is that of all ranks. Use Idle.")
        total, _ = amounts(self.seconds, "seconds", "uniform", "pattern", patterns=RANK_PATTERNS, explicit="")
        set_field(self, "seconds", total)


@dataclass(frozen=True)
class Sequence(Task):
    """Execute tasks one after the other, all of them in every iteration.

    Parameters
    ----------
    tasks
        The tasks; asynchronous tasks are awaited at the end of the iteration. Sequences may be nested up to
        50 levels.
    name, iterations, synchronized
        As for :class:`Task`.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    tasks: abc.Sequence[Task]
    depth: int = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "sequence"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_field(self, "tasks", sequence(self.tasks, Task, "tasks", "a task"))
        set_field(self, "depth", 1 + max((getattr(task, "depth", 0) for task in self.tasks), default=0))
        if self.depth > _DEEPEST:
            raise ApplicationError(f"sequences nest deeper than {_DEEPEST}; write the tasks flatter.")


def _spread_over_ranks(task: Task, name: str, otherwise: str | None = None) -> None:
    value, pattern = getattr(task, name), getattr(task, "pattern", None)
    if pattern is None and not is_explicit(value):
        pattern = otherwise
    total, pattern = amounts(value, name, pattern, "pattern", patterns=RANK_PATTERNS, explicit=VECTOR)
    set_field(task, name, total)
    set_field(task, "pattern", pattern)
