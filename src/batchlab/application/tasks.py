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

import math
from collections import abc
from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, get_args

from batchlab._kernel import Formula
from batchlab.core import rules
from batchlab.core.form import check_fields
from batchlab.core.lazy import make_dir
from batchlab.core.rules import set_field
from batchlab.errors import ApplicationError, shown, suggest

__all__ = ["BusyWait", "Compute", "Delay", "Gpu", "Idle", "Read", "Sequence", "Task", "Write"]

Number = Formula | str | float
"""A formula, its text, or a number."""

Amounts = Formula | str | float | abc.Sequence[float] | abc.Sequence[abc.Sequence[float]]
"""A total, or explicit amounts."""

RankPattern = Literal["uniform", "all_ranks", "root_only", "even_ranks", "odd_ranks"]
RANK_PATTERNS: tuple[RankPattern, ...] = get_args(RankPattern)
PairPattern = Literal[
    "all_to_all",
    "ring",
    "ring_clockwise",
    "ring_counter_clockwise",
    "gather",
    "scatter",
    "master_worker",
]
PAIR_PATTERNS: tuple[PairPattern, ...] = get_args(PairPattern)
VECTOR, MATRIX = "vector", "matrix"
_OTHER_NAMES = {"total": "all_ranks"}
_LARGEST_COUNT = 2**53


def formula(value: object, field: str) -> Formula:
    """Convert a text or a number to a formula."""
    if isinstance(value, bool) or not isinstance(value, Formula | str | float | int):
        value = _plain_number(value, field)
    try:
        return Formula(value)
    except ApplicationError as error:
        raise ApplicationError(f"{field} = {shown(value)}: {error}") from None
    except (OverflowError, TypeError):  # a whole number that is no float64
        raise ApplicationError(f"{field} = {shown(value)}; must be a number below 2^1024.") from None


def _plain_number(value: Any, field: str) -> float:  # noqa: ANN401  # anything may come
    """Return a number, also one of NumPy; truth values are no numbers."""
    number = rules.number_of(value)
    if number is not None:
        return float(number)
    raise ApplicationError(
        f"{field} = {shown(value)}; must be a number or a formula, as 'flops / num_nodes'."
    )


def count(value: object, field: str) -> Formula:
    """Check a number of iterations or nodes; fractions are truncated at evaluation."""
    taken = formula(value, field)
    if taken.number is not None and not 0 <= taken.number <= _LARGEST_COUNT:
        raise ApplicationError(f"{field} = {shown(value)}; must be from 0 to 2^53, or a formula.")
    return taken


def amount(value: object, field: str) -> Formula:
    """Check a total."""
    taken = formula(value, field)
    if taken.number is not None and not 0 <= taken.number < math.inf:
        raise ApplicationError(f"{field} = {shown(value)}; must be a finite number >= 0, or a formula.")
    return taken


def amounts(
    value: object,
    field: str,
    pattern: object,
    pattern_field: str,
    *,
    patterns: abc.Sequence[str],
    explicit: str,
) -> tuple[Formula | tuple[float, ...], str]:
    """Check a total and its pattern, or explicit amounts."""
    is_list = is_explicit(value)
    if is_list and (pattern is None or _named(pattern) == explicit):
        return _explicit(value, field, is_square=explicit == MATRIX), explicit
    if is_list:
        raise ApplicationError(
            f"{pattern_field} = {shown(pattern)}; must be {explicit!r} where {field} is a list."
        )
    name = _OTHER_NAMES.get(_named(pattern), _named(pattern))
    if name == explicit:
        raise ApplicationError(f"{field} = {shown(value)}; must be a list of numbers for {explicit!r}.")
    if name not in patterns:
        said = "missing" if pattern is None else f"= {shown(pattern)}"
        known = suggest(name, (*patterns, explicit))
        raise ApplicationError(f"{pattern_field} {said}; must say how {field} is spread.{known}")
    return amount(value, field), name


def is_explicit(value: object) -> bool:
    """Return whether a value is a list of explicit amounts."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def _named(pattern: object) -> str:
    return pattern.lower() if isinstance(pattern, str) else ""


def _explicit(value: Any, field: str, *, is_square: bool) -> tuple[float, ...]:  # noqa: ANN401  # unchecked input
    """Check the amounts per rank, or per pair of ranks in row-major order."""
    rows = list(value)
    if is_square and any(isinstance(row, Sized) and not isinstance(row, str) for row in rows):
        if not all(isinstance(row, Iterable) and len(list(row)) == len(rows) for row in rows):
            raise ApplicationError(f"{field} = {shown(value)}; must have as many columns as rows.")
        rows = [entry for row in rows for entry in row]
    numbers = tuple(_entry(entry, f"{field}[{index}]") for index, entry in enumerate(rows))
    if not numbers or (is_square and math.isqrt(len(numbers)) ** 2 != len(numbers)):
        rule = "a square of numbers, one row after the other" if is_square else "at least one number"
        raise ApplicationError(f"{field} has {len(numbers)} entries; must be {rule}.")
    return numbers


def _entry(value: object, field: str) -> float:
    if isinstance(value, str | Formula):
        raise ApplicationError(f"{field} = {shown(value)}; must be a number: lists hold no formulas.")
    number = amount(value, field).number
    return math.nan if number is None else number


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

    name: Annotated[str, rules.text] = ""
    iterations: Number = 1
    synchronized: bool = False

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_fields(self, ApplicationError, "")
        set_field(self, "iterations", count(self.iterations, "iterations"))


Tasks = Annotated[abc.Sequence[Task], rules.List(rules.Instance(Task), "tasks")]


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
    asynchronous: bool = field(default=False, metadata={"key": "async"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _spread_over_ranks(self, "bytes")


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

    seconds: Amounts = field(metadata={"key": "delay"})
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

    seconds: Number = field(metadata={"key": "delay"})
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

    tasks: Tasks
    depth: int = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "sequence"

    def __post_init__(self) -> None:
        super().__post_init__()
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
