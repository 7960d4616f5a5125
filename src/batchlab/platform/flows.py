"""Activities on a platform: flows of bytes between two hosts, and parallel tasks on several hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.rules import set_field
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.network_model import MODELS, OPTIONS, NetworkModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform

__all__ = ["MODELS", "OPTIONS", "Columns", "Flow", "ParallelTask", "columns", "share"]

_FIELDS = ("src", "dst", "bytes", "start")


@dataclass(frozen=True)
class Flow:
    """A transfer of bytes from one host to another.

    Parameters
    ----------
    src, dst
        The hosts, by name or by index in `Platform.hosts`.
    bytes
        Number of bytes, at least 0.
    start
        Start of the transfer, seconds.

    Raises
    ------
    PlatformError
        If the bytes or the start are not finite numbers >= 0.
    """

    src: str | int
    dst: str | int
    bytes: float
    start: float = 0.0

    def __post_init__(self) -> None:
        set_field(self, "bytes", _amount(self.bytes, "Flow: bytes"))
        set_field(self, "start", _amount(self.start, "Flow: start"))


@dataclass(frozen=True, eq=False)
class ParallelTask:
    """Computation on several hosts and communication between them, all progressing in proportion.

    Parameters
    ----------
    hosts
        The hosts, by name or by index in `Platform.hosts`.
    flops
        Operations, one number per host; none by default.
    bytes
        An n × n matrix for n hosts: row i, column j is the number of bytes from host i to host j; none by
        default.
    start
        When the task starts, seconds.

    Raises
    ------
    PlatformError
        If the numbers do not match the number of hosts, or are not finite and >= 0.
    """

    hosts: Sequence[str | int]
    flops: Sequence[float] = ()
    bytes: Sequence[Sequence[float]] | NDArray[np.float64] = ()
    start: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.hosts, str) or not self.hosts:
            raise PlatformError(
                f"ParallelTask: hosts = {shown(self.hosts)}; must be a list of one or more hosts."
            )
        count = len(self.hosts)
        set_field(self, "hosts", tuple(self.hosts))
        set_field(self, "flops", tuple(_numbers(self.flops, (count,), "flops").tolist()))
        set_field(self, "bytes", _numbers(self.bytes, (count, count), "bytes"))
        set_field(self, "start", _amount(self.start, "ParallelTask: start"))


class TaskColumns(TypedDict):
    """A parallel task in the kernel's format."""

    hosts: list[int]
    flops: list[float]
    bytes: list[float]


class Columns(NamedTuple):
    """Activities in the kernel's format, one row each; the source of parallel tasks is -1."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    bytes: NDArray[np.float64]
    start: NDArray[np.float64]
    tasks: list[TaskColumns]


def columns(flows: object, number: Callable[[str], int], count: int) -> Columns:
    """Check activities, and convert them to columns.

    Parameters
    ----------
    flows
        Flows, parallel tasks, tuples and mappings in any order; or a table with the columns of `Flow`.
    number
        Returns the index of a host by name.
    count
        The number of hosts.

    Returns
    -------
    Columns
        One row per activity, in order.

    Raises
    ------
    PlatformError
        If an activity breaks a rule; the message names its index in the list, from 0.
    """
    table = _table(flows)
    if table is not None:
        return _of_table(table, _Places(number, count))
    if isinstance(flows, str | bytes) or not isinstance(flows, Iterable):
        raise PlatformError(
            f"flows = {shown(flows)}; must be a list of flows and parallel tasks, or a table."
        )
    return _of_list(flows, _Places(number, count))


class _Places:
    """The indices of hosts, with a cache for names."""

    def __init__(self, number: Callable[[str], int], count: int) -> None:
        self._number, self._count = number, count
        self._known: dict[object, int] = {}

    def __getitem__(self, host: object) -> int:
        place = self._known.get(host) if isinstance(host, str | int) else None
        if place is None:
            place = self._find(host)
            self._known[host] = place
        return place

    def _find(self, host: object) -> int:
        if isinstance(host, str):
            return self._number(host)
        if isinstance(host, bool) or not isinstance(host, int | np.integer):
            raise PlatformError(f"host = {shown(host)}; must be a name, or a place in the platform's hosts.")
        if not 0 <= host < self._count:
            raise PlatformError(f"host = {shown(host)}; there are {self._count} hosts, numbered from 0.")
        return int(host)

    def column(self, hosts: object) -> NDArray[np.int64]:
        """Return the indices of a column of hosts."""
        values = np.asarray(hosts)
        if values.dtype.kind in "iu" and values.size and values.min() >= 0 and values.max() < self._count:
            return values.astype(np.int64)
        return np.fromiter(map(self.__getitem__, values.tolist()), np.int64, len(values))


def _table(flows: object) -> Mapping[str, object] | None:
    """Return the columns of a table; None if the argument is no table."""
    if isinstance(flows, Mapping):
        return flows
    names = getattr(flows, "columns", None)
    if names is None or isinstance(flows, np.ndarray):
        return None
    return {str(name): flows[name] for name in names}  # type: ignore[index]  # tables have columns by name


def _of_table(table: Mapping[str, object], places: _Places) -> Columns:
    _check_names(table, "flows")
    shapes = {name: _shape(column) for name, column in table.items()}
    for name, shape in shapes.items():
        if len(shape) != 1:
            raise PlatformError(
                f"flows: {name} = {shown(table[name])}; must be a column, one value per flow."
            )
    lengths = {shape[0] for shape in shapes.values()}
    if len(lengths) > 1:
        counts = " and ".join(map(str, sorted(lengths)))
        raise PlatformError(f"flows: the columns have {counts} rows; must be equal.")
    try:
        source, target = places.column(table["src"]), places.column(table["dst"])
    except PlatformError as error:
        raise PlatformError(f"flows: {error}") from None
    size = _column(table["bytes"], "bytes")
    start = _column(table["start"], "start") if "start" in table else np.zeros(len(size))
    return Columns(source, target, size, start, [])


def _shape(column: object) -> tuple[int, ...]:
    try:
        return np.asarray(column).shape
    except (TypeError, ValueError):
        return ()


def _column(values: object, name: str) -> NDArray[np.float64]:
    try:
        column = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlatformError(f"flows: column {name!r} must hold numbers.") from None
    wrong = ~(np.isfinite(column) & (column >= 0.0))
    if wrong.any():
        row = int(wrong.argmax())
        raise PlatformError(f"flow {row}: {name} = {column[row]:g}; must be a finite number >= 0.")
    return column


def _of_list(flows: Iterable[object], places: _Places) -> Columns:
    source, target, size, start = [], [], [], []
    tasks: list[TaskColumns] = []
    for row, given in enumerate(flows):
        try:
            one = _activity(given)
            if isinstance(one, ParallelTask):
                tasks.append(_task(one, places))
                ends = (-1, -1, 0.0)
            else:
                ends = (places[one.src], places[one.dst], one.bytes)
        except PlatformError as error:
            raise PlatformError(f"flow {row}: {error}") from None
        source.append(ends[0])
        target.append(ends[1])
        size.append(ends[2])
        start.append(one.start)
    return Columns(
        np.array(source, dtype=np.int64),
        np.array(target, dtype=np.int64),
        np.array(size, dtype=np.float64),
        np.array(start, dtype=np.float64),
        tasks,
    )


def _activity(given: object) -> Flow | ParallelTask:
    """Convert a flow, a parallel task, a mapping or a tuple to an activity."""
    if isinstance(given, Flow | ParallelTask):
        return given
    if isinstance(given, Mapping):
        _check_names(given, "a flow")
        return Flow(**given)
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) in {3, 4}:
        return Flow(*given)
    raise PlatformError(f"{shown(given)} must be a Flow, a ParallelTask, or (src, dst, bytes[, start]).")


def _check_names(given: Mapping[str, object], what: str) -> None:
    for name in given:
        if name not in _FIELDS:
            raise PlatformError(f"{what} has no {shown(name)}.{suggest(str(name), _FIELDS)}")
    for name in _FIELDS[:3]:
        if name not in given:
            raise PlatformError(f"{what} needs {name!r}; give src, dst and bytes.")


def _task(task: ParallelTask, places: _Places) -> TaskColumns:
    matrix = np.asarray(task.bytes, dtype=np.float64)
    return {
        "hosts": [places[host] for host in task.hosts],
        "flops": list(task.flops),
        "bytes": matrix.ravel().tolist(),
    }


def _amount(value: object, what: str) -> float:
    return float(rules.check(PlatformError, what, value, rules.NOT_NEGATIVE))


def _numbers(values: object, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return numbers as an array of the given shape; empty input becomes zeros."""
    size = " × ".join(map(str, shape))
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlatformError(f"ParallelTask: {name} = {shown(values)}; must be {size} numbers.") from None
    if array.size == 0:
        array = np.zeros(shape)
    if array.shape != shape:
        got = " × ".join(map(str, array.shape))
        raise PlatformError(
            f"ParallelTask: {name} has {got or 'no'} numbers; must be {size}, as there are hosts."
        )
    wrong = ~(np.isfinite(array) & (array >= 0.0))
    if wrong.any():
        place = tuple(int(at) for at in np.argwhere(wrong)[0])
        value = float(array[place])
        raise PlatformError(
            f"ParallelTask: {name}[{', '.join(map(str, place))}] = {value:g}; must be a finite number >= 0."
        )
    array.flags.writeable = False
    return array


@checked(PlatformError)
def share(
    platform: Platform,
    flows: Iterable[object] | Mapping[str, object],
    model: str | NetworkModel | None = None,
    options: Mapping[str, float | bool | str] | None = None,
) -> NDArray[np.float64]:
    """Compute the completion times of flows and parallel tasks that share a platform.

    Parameters
    ----------
    platform
        Hosts, links and routes.
    flows
        `Flow` and `ParallelTask`; or tuples and mappings ``src, dst, bytes, start`` for flows; or a table of
        flows: a data frame or a mapping of columns, which is fast for many flows.
    model
        The network model: a `NetworkModel` or its name; by default the one selected by the options, else
        ``"max_min"``.
    options
        Changes of parameters under SimGrid's names: keys of `OPTIONS`. Options that the model does not have
        are ignored, as in SimGrid. A complete configuration of SimGrid is accepted
        (`NetworkModel.from_simgrid`).

    Returns
    -------
    numpy.ndarray
        Shape (flows,): seconds, in the order of the flows. Infinite for an activity that never ends because a
        host has speed 0.

    Raises
    ------
    PlatformError
        If a model, option or host is unknown, a number is invalid, the options select another model than
        `model`, or there is no route.

    Notes
    -----
    The rules are those of SimGrid 3.34. Times agree with SimGrid's up to rounding if SimGrid updates fully
    (``network/optim:Full``); docs/sharing.md has the formulas.

    Examples
    --------
    >>> import batchlab as bl
    >>> platform = bl.Platform.crossbar(3, bandwidth="100MBps")
    >>> bl.share(platform, [bl.Flow("node0", "node1", 1e8), ("node0", "node2", 5e7, 0.5)]).tolist()
    [1.5, 1.5]
    """
    network = NetworkModel.from_simgrid(options or {}, model)
    table = columns(flows, platform.number, len(platform.kernel.hosts))
    if table.tasks and not network.knows_tasks:
        rule = "knows flows only; use 'max_min' or 'fair_bottleneck' for parallel tasks"
        raise PlatformError(f"model {network.model!r} {rule}.")
    return _run(platform, table, network)


def _run(platform: Platform, table: Columns, network: NetworkModel) -> NDArray[np.float64]:
    try:
        return _kernel.share(
            platform.kernel,
            network.kernel,
            source=table.source,
            target=table.target,
            size=table.bytes,
            start=table.start,
            tasks=table.tasks,
        )
    except LookupError as error:
        row, source, target = error.args
        names = platform.kernel.hosts
        raise PlatformError(
            f"flow {row}: there is no route from {shown(names[source])} to {shown(names[target])}; "
            "add one where their zones meet."
        ) from None
