"""The ledger: jobs and nodes as ElastiSim's scheduler records them, and as algorithms see them.

ElastiSim only sends jobs and nodes that changed in its records since the last call; a job at a scheduling
point is not among them until it continues. Algorithms rely on this, so these records are kept as in ElastiSim
(commit 26c03fb). Times and progress come from the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from batchlab.errors import AlgorithmError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.bridge.elastisim.jobs import ElastisimJob

__all__ = ["JobEntry", "Ledger", "NodeEntry", "Reply", "Use"]

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
    assigned: list[int] = field(default_factory=list)
    """The nodes assigned by the algorithm, in rank order."""
    executing: list[int] = field(default_factory=list)
    """The nodes that the job runs on, in rank order."""
    gpus: int = 0
    """Number of GPUs per node assigned by the algorithm; always 0 for rigid jobs."""
    runtime_arguments: dict[str, str] = field(default_factory=dict)
    phases: tuple[int, int] = (0, 0)
    """Completed and total iterations of phases, at the last update."""


@dataclass(slots=True, eq=False)
class NodeEntry:
    """A node in the ledger."""

    id: int
    type: int
    gpus: int
    state: int = FREE
    running: list[JobEntry] = field(default_factory=list)
    expected: list[JobEntry] = field(default_factory=list)
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
