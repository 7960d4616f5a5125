"""The jobs file of ElastiSim, and the ledger of jobs and nodes that its scheduler keeps.

ElastiSim only sends jobs and nodes that changed in its records since the last call; a job at a scheduling
point is not among them until it continues. Algorithms rely on this, so these records are kept as in ElastiSim
(commit 26c03fb). Times and progress come from the simulation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from batchlab.bridge.document import field, nearest, read_object, seconds, text
from batchlab.core.rules import is_finite
from batchlab.core.vocabulary import JobType
from batchlab.errors import AlgorithmError, BridgeError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


_TYPES: tuple[JobType, ...] = get_args(JobType)

_RIGID = ("num_nodes", "num_gpus_per_node")
_ELASTIC = ("num_nodes_min", "num_nodes_max", "num_gpus_per_node_min", "num_gpus_per_node_max")
_KEYS = dict.fromkeys(
    (
        *("type", "submit_time", "walltime", "application_model", "arguments", "attributes"),
        *("dependencies", *_RIGID, *_ELASTIC),
    )
)
_LARGEST_COUNT = 2**31 - 1
_LARGEST_INTEGER = 2**64


@dataclass(frozen=True, kw_only=True, slots=True)
class ElastisimJob:
    """A job of an ElastiSim project.

    Attributes
    ----------
    place
        Its position in the file, ``jobs.json: jobs[3]``, for error messages.
    submit_time
        Seconds.
    walltime
        Seconds; 0 for no limit.
    nodes, gpus_per_node
        Minimum and maximum; equal for a rigid job.
    application_model
        The path of the application model, as written.
    arguments, attributes
        By name, as the text that ElastiSim uses in formulas and messages.
    dependencies
        The ids of the jobs that must complete before this one can start.
    passed_over
        Keys with a value other than an unsigned integer, which ElastiSim silently treats as 0.
    unknown
        Unknown keys, which are ignored.
    """

    place: str
    type: JobType
    submit_time: float
    walltime: float
    nodes: tuple[int, int]
    gpus_per_node: tuple[int, int]
    application_model: str
    arguments: Mapping[str, str]
    attributes: Mapping[str, str]
    dependencies: tuple[int, ...] = ()
    passed_over: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def read_jobs(path: Path) -> list[ElastisimJob]:
    """Read an ElastiSim jobs file.

    Parameters
    ----------
    path
        The JSON file, ``{"jobs": [...]}``.

    Returns
    -------
    list of ElastisimJob
        Sorted by submission, ties in the order of the file: the index of a job is its id.

    Raises
    ------
    BridgeError
        If the file is invalid; the message names the file, the job and the key.
    """
    jobs = read_object(path).get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise BridgeError(f'{path}: has no list of jobs; write {{"jobs": [{{…}}, …]}}.')
    read = [_job(f"{path}: jobs[{index}]", job) for index, job in enumerate(jobs)]
    ordered = sorted(read, key=lambda job: job.submit_time)
    _check_dependencies(ordered)
    return ordered


def _job(place: str, job: object) -> ElastisimJob:
    if not isinstance(job, dict):
        raise BridgeError(f"{place} = {shown(job)}; must be an object of keys and values.")
    for key in job:
        if key not in _KEYS and (suggestion := nearest(key, _KEYS)):
            raise BridgeError(f"{place}: {shown(key)} is not a key of a job.{suggestion}")
    try:
        return _typed(place, {key: value for key, value in job.items() if value is not None})
    except ValueError as error:
        if isinstance(error, BridgeError):
            raise
        raise BridgeError(f"{place}.{error}.") from None


def _typed(place: str, job: dict[str, object]) -> ElastisimJob:
    kind = _kind(job.get("type"))
    numbers = ("walltime", *(_RIGID[1:] if kind == "rigid" else _ELASTIC))
    return ElastisimJob(
        place=place,
        type=kind,
        submit_time=field("submit_time", seconds, job),
        walltime=float(_unsigned(job.get("walltime"))),
        nodes=_nodes(kind, job),
        gpus_per_node=_gpus(kind, job),
        application_model=field("application_model", text, job),
        arguments=_as_texts("arguments", job.get("arguments", {})),
        attributes=_as_texts("attributes", job.get("attributes", {})),
        dependencies=_dependencies(job.get("dependencies", [])),
        passed_over=tuple(key for key in numbers if key in job and not _is_unsigned(job[key])),
        unknown=tuple(key for key in job if key not in _KEYS),
    )


def _dependencies(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(map(_is_unsigned, value)):
        rule = "must be a list of job ids, which count from 0 in the order of submission"
        raise ValueError(f"dependencies = {shown(value)}; {rule}")
    return tuple(dict.fromkeys(value))


def _check_dependencies(jobs: list[ElastisimJob]) -> None:
    """Raise for dependencies on unknown jobs, and for cycles."""
    for number, job in enumerate(jobs):
        for other in job.dependencies:
            if other >= len(jobs) or other == number:
                rule = "it is this job" if other == number else f"there are {len(jobs)} jobs"
                raise BridgeError(f"{job.place}.dependencies names job {other}; {rule}.")
    waiting = {number: {*job.dependencies} for number, job in enumerate(jobs)}
    order = TopologicalSorter(waiting)
    try:
        order.prepare()
    except CycleError as error:
        circle = " on ".join(map(str, error.args[1]))
        raise BridgeError(f"{jobs[error.args[1][0]].place}.dependencies: job {circle}: a circle.") from None


def _kind(value: object) -> JobType:
    if not isinstance(value, str):
        raise ValueError(f"type = {shown(value)}; must be one of {', '.join(_TYPES)}")  # noqa: TRY004
    for kind in _TYPES:
        if kind == value.lower():
            return kind
    raise ValueError(f"type = {shown(value)} is unknown.{suggest(value, _TYPES)}".rstrip("."))


def _is_unsigned(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INTEGER


def _unsigned(value: object) -> int:
    return value if isinstance(value, int) and _is_unsigned(value) else 0


def _count(key: str, value: object) -> int:
    number = _unsigned(value)
    if number > _LARGEST_COUNT:
        raise ValueError(f"{key} = {shown(value)}; must be < 2^31")
    return number


def _nodes(kind: JobType, job: dict[str, object]) -> tuple[int, int]:
    keys = _RIGID[:1] * 2 if kind == "rigid" else _ELASTIC[:2]
    least, most = (_count(key, job.get(key)) for key in keys)
    for key, number in zip(keys, (least, most), strict=True):
        if number < 1:
            given = f" = {shown(job[key])}" if key in job else " is missing"
            raise ValueError(f"{key}{given}; a {kind} job needs an integer >= 1")
    if least > most:
        raise ValueError(f"{keys[0]} = {least}; must be <= {keys[1]} = {most}")
    return least, most


def _gpus(kind: JobType, job: dict[str, object]) -> tuple[int, int]:
    keys = _RIGID[1:] * 2 if kind == "rigid" else _ELASTIC[2:]
    least, most = (_count(key, job.get(key)) for key in keys)
    if least > most:
        raise ValueError(f"{keys[0]} = {least}; must be <= {keys[1]} = {most}")
    return least, most


def _as_texts(key: str, values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        raise ValueError(f"{key} = {shown(values)}; must be an object of names and values")  # noqa: TRY004
    return {name: _as_text(f"{key}.{name}", value) for name, value in sorted(values.items())}


def _as_text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} = {shown(value)}; must be a text or a number")  # noqa: TRY004
    if isinstance(value, int) and -_LARGEST_INTEGER // 2 <= value < _LARGEST_INTEGER:
        return str(value)
    if not is_finite(value):
        raise ValueError(f"{key} = {shown(value)}; must be a text or a finite number")
    # Six decimals, as from std::to_string: 1.5e-7 becomes 0.
    return f"{float(value):.6f}"


# Numbers as in ElastiSim.
PENDING, PENDING_ALLOCATION, PENDING_KILL = 1, 2, 3
RUNNING, PENDING_RECONFIGURATION, IN_RECONFIGURATION = 4, 5, 6
COMPLETED, KILLED = 7, 8
FREE, ALLOCATED, RESERVED = 0, 1, 2
TYPES: Final = {"rigid": 0, "moldable": 1, "malleable": 2, "evolving": 3, "adaptive": 4}
_RESIZABLE = frozenset((2, 3, 4))
OVER = frozenset((COMPLETED, KILLED))


@dataclass(slots=True, eq=False)
class JobEntry:
    """A job in the ledger; states and types are ElastiSim's numbers, times are seconds, -1 if unknown."""

    id: int
    type: int
    job: ElastisimJob
    state: int = PENDING
    start_time: float = -1.0
    end_time: float = -1.0
    assigned: list[int] = dataclasses.field(default_factory=list)
    """The nodes assigned by the algorithm, in rank order."""
    executing: list[int] = dataclasses.field(default_factory=list)
    """The nodes that the job runs on, in rank order."""
    gpus: int = 0
    """Number of GPUs per node assigned by the algorithm; always 0 for rigid jobs."""
    runtime_arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    phases: tuple[int, int] = (0, 0)
    """Completed and total iterations of phases, at the last update."""


@dataclass(slots=True, eq=False)
class NodeEntry:
    """A node in the ledger."""

    id: int
    type: int
    gpus: int
    state: int = FREE
    running: list[JobEntry] = dataclasses.field(default_factory=list)
    expected: list[JobEntry] = dataclasses.field(default_factory=list)
    busy_gpus: int = 0
    """The GPUs that are computing, as a bit mask."""


class Use(NamedTuple):
    """The running and expected jobs of several nodes from a time on; equal for all of them."""

    time: float
    nodes: tuple[int, ...]
    state: int
    running: tuple[JobEntry, ...]
    expected: tuple[JobEntry, ...]


@dataclass(slots=True, frozen=True)
class Reply:
    """The decision of an algorithm on a job.

    Attributes
    ----------
    job
        The id of the job.
    nodes
        The assigned nodes, in rank order.
    gpus_per_node
        Number of GPUs per node. Ignored for rigid jobs, for which algorithms also return None.
    kill
        Whether to kill the job; the other fields are then ignored.
    runtime_arguments
        New variables for the formulas of the job; None to keep the current ones.
    """

    job: int
    nodes: tuple[int, ...]
    gpus_per_node: int | None = 0
    kill: bool = False
    runtime_arguments: Mapping[str, str] | None = None


class Ledger:
    """The records of jobs and nodes.

    Parameters
    ----------
    nodes
        The type and the number of GPUs of every compute node, by id.
    oversubscription
        Whether several jobs may share a node.

    Attributes
    ----------
    jobs, nodes
        All submitted jobs, and all nodes; by id.
    has_gpus
        Whether any node has GPUs.
    changed_jobs
        Jobs to send to the algorithm, in the order of their first change.
    changed_nodes
        Ids of changed nodes, in the order of changes, with duplicates.
    uses
        All changes of the jobs on nodes, in order; equal changes of several nodes at once are one entry.
    """

    def __init__(self, nodes: Iterable[tuple[int, int]], *, oversubscription: bool) -> None:
        self.jobs: list[JobEntry] = []
        self.nodes = [NodeEntry(number, kind, gpus) for number, (kind, gpus) in enumerate(nodes)]
        self.has_gpus = any(node.gpus for node in self.nodes)
        self.changed_jobs: dict[JobEntry, None] = {}
        self.changed_nodes = list(range(len(self.nodes)))
        self.uses = [Use(0.0, tuple(range(len(self.nodes))), FREE, (), ())]
        self._oversubscription = oversubscription

    def clear_changes(self) -> None:
        """Clear the lists of changes after they were sent to the algorithm."""
        self.changed_jobs.clear()
        self.changed_nodes.clear()

    def submit(self, job: ElastisimJob) -> JobEntry:
        """Add a submitted job."""
        entry = JobEntry(len(self.jobs), TYPES[job.type], job)
        self.jobs.append(entry)
        self.changed_jobs[entry] = None
        return entry

    def take(self, reply: Reply) -> JobEntry:
        """Apply the reply for a job; its new state determines the next action.

        Raises
        ------
        AlgorithmError
            If ElastiSim would reject it: too few or too many nodes, a node of another job, or nodes for a job
            that cannot be resized.
        """
        entry = self._entry(reply.job)
        if reply.kill:
            if entry.state not in OVER:
                self._set(entry, PENDING_KILL)
            return entry
        self._assign(entry, reply.nodes)
        if entry.type:
            entry.gpus = self._gpus(entry, reply)
        if reply.runtime_arguments is not None:
            entry.runtime_arguments = dict(reply.runtime_arguments)
        self._check(entry)
        if entry.assigned != entry.executing:
            if entry.state == PENDING:
                self._set(entry, PENDING_ALLOCATION)
            elif entry.state == RUNNING:
                self._set(entry, PENDING_RECONFIGURATION)
        elif entry.state == PENDING_RECONFIGURATION:
            self._set(entry, RUNNING)
        return entry

    def start(self, entry: JobEntry, now: float) -> None:
        """Start a job on its assigned nodes."""
        for number in entry.assigned:
            node = self.nodes[number]
            if node.running and not self._oversubscription:
                raise AlgorithmError(
                    f"node {number} was given to job {entry.id}, but job {node.running[0].id} is on it; "
                    "give free nodes, or set allow_oversubscription."
                )
        self._set(entry, RUNNING)
        entry.start_time = now
        entry.executing = list(entry.assigned)
        self._occupy(entry, entry.executing, now)

    def reconfigure(self, entry: JobEntry, now: float) -> None:
        """Move a job to its assigned nodes."""
        before, after = entry.executing, list(entry.assigned)
        entry.executing = after
        self._unexpect(entry)
        self._set(entry, IN_RECONFIGURATION)
        had, has = set(before), set(after)
        self._occupy(entry, [number for number in after if number not in had], now)
        self._leave(entry, sorted(had - has), now)

    def go_on(self, entry: JobEntry) -> None:
        """Resume the phases of a job, after a start, a reconfiguration, or no change."""
        self._set(entry, RUNNING)

    def end(self, entry: JobEntry, now: float, state: int) -> None:
        """Remove a completed or killed job from its nodes."""
        self._leave(entry, entry.executing, now)
        entry.end_time = now
        self._unexpect(entry)
        self._set(entry, state)

    def _entry(self, number: int) -> JobEntry:
        if not 0 <= number < len(self.jobs):
            raise AlgorithmError(f"the algorithm answered for job {number}, which has not been submitted.")
        return self.jobs[number]

    def _set(self, entry: JobEntry, state: int) -> None:
        entry.state = state
        self.changed_jobs[entry] = None

    def _assign(self, entry: JobEntry, numbers: tuple[int, ...]) -> None:
        self._unexpect(entry)
        for number in numbers:
            if not 0 <= number < len(self.nodes):
                raise AlgorithmError(f"job {entry.id} was given node {number}; there are {len(self.nodes)}.")
        if len(set(numbers)) < len(numbers):
            raise AlgorithmError(f"job {entry.id} was given a node twice: {list(numbers)}; name each once.")
        entry.assigned = list(numbers)
        if entry.state == PENDING:
            return
        if entry.type not in _RESIZABLE or entry.state in OVER:
            state = "is over" if entry.state in OVER else f"is {entry.job.type} and has begun"
            raise AlgorithmError(f"job {entry.id} {state}; its nodes cannot change any more.")
        for number in numbers:
            self._expect(entry, self.nodes[number])

    def _gpus(self, entry: JobEntry, reply: Reply) -> int:
        if reply.gpus_per_node is None:
            rule = "must be a whole number unless the job is rigid"
            raise AlgorithmError(f"job {entry.id} was given assigned_num_gpus_per_node = null; {rule}.")
        return reply.gpus_per_node

    def _check(self, entry: JobEntry) -> None:
        least, most = entry.job.nodes
        if not least <= len(entry.assigned) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise AlgorithmError(f"job {entry.id} was given {len(entry.assigned)} nodes; it needs {wanted}.")
        least, most = entry.job.gpus_per_node
        if entry.type and not least <= entry.gpus <= most:
            raise AlgorithmError(
                f"job {entry.id} was given {entry.gpus} GPUs per node; it needs {least} to {most} "
                "(assign_num_gpus_per_node)."
            )

    def _expect(self, entry: JobEntry, node: NodeEntry) -> None:
        if not self._oversubscription:
            for others in (node.running, node.expected):
                if others and entry not in others:
                    raise AlgorithmError(
                        f"node {node.id} was given to job {entry.id}, but job {others[0].id} has it; "
                        "give free nodes, or set allow_oversubscription."
                    )
        if entry not in node.expected:
            node.expected.append(entry)
        if node.state == FREE:
            node.state = RESERVED
        self.changed_nodes.append(node.id)

    def _unexpect(self, entry: JobEntry) -> None:
        for number in entry.assigned:
            node = self.nodes[number]
            if entry in node.expected:
                node.expected.remove(entry)
            if not node.expected and node.state == RESERVED:
                node.state = FREE
            self.changed_nodes.append(number)

    def _occupy(self, entry: JobEntry, numbers: Sequence[int], now: float) -> None:
        for number in numbers:
            node = self.nodes[number]
            node.running.append(entry)
            node.state = ALLOCATED
        self._note(numbers, now)

    def _leave(self, entry: JobEntry, numbers: Sequence[int], now: float) -> None:
        for number in numbers:
            node = self.nodes[number]
            node.running.remove(entry)
            if not node.running:
                node.state = FREE
        self._note(numbers, now)

    def _note(self, numbers: Sequence[int], now: float) -> None:
        """Record a change of nodes; consecutive nodes in equal state share one entry, to keep entries few."""
        self.changed_nodes.extend(numbers)
        first: NodeEntry | None = None
        begin = 0
        for place, number in enumerate(numbers):
            node = self.nodes[number]
            if first is None:
                first = node
            elif (
                node.state != first.state or node.running != first.running or node.expected != first.expected
            ):
                self._use(first, numbers[begin:place], now)
                first, begin = node, place
        if first is not None:
            self._use(first, numbers[begin:], now)

    def _use(self, node: NodeEntry, alike: Sequence[int], now: float) -> None:
        self.uses.append(Use(now, tuple(alike), node.state, tuple(node.running), tuple(node.expected)))
