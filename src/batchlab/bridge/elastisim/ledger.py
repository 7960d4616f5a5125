"""What ElastiSim's scheduler knows of jobs and nodes, and how it changes: the states that algorithms see.

ElastiSim tells an algorithm only of jobs and nodes that have changed in its books since it told last; a job
that reaches a scheduling point is not among them until it goes on. Algorithms see exactly that, so the books
are kept here as ElastiSim (commit 26c03fb) keeps them. Times and progress come from the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from batchlab.errors import AlgorithmError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.bridge.elastisim.jobs import ElastisimJob

__all__ = ["JobEntry", "Ledger", "NodeEntry", "Reply", "Use"]

# ElastiSim's numbers.
PENDING, PENDING_ALLOCATION, PENDING_KILL = 1, 2, 3
RUNNING, PENDING_RECONFIGURATION, IN_RECONFIGURATION = 4, 5, 6
COMPLETED, KILLED = 7, 8
FREE, ALLOCATED, RESERVED = 0, 1, 2
TYPES: Final = {"rigid": 0, "moldable": 1, "malleable": 2, "evolving": 3, "adaptive": 4}
_RESIZABLE = frozenset((2, 3, 4))
OVER = frozenset((COMPLETED, KILLED))


@dataclass(slots=True, eq=False)
class JobEntry:
    """A job in the books; numbers of states and types are ElastiSim's, times are seconds, -1 for not yet."""

    id: int
    type: int
    job: ElastisimJob
    state: int = PENDING
    start_time: float = -1.0
    end_time: float = -1.0
    assigned: list[int] = field(default_factory=list)
    """The nodes that the algorithm wants, in rank order."""
    executing: list[int] = field(default_factory=list)
    """The nodes that it runs on, in rank order."""
    gpus: int = 0
    """How many GPUs of each node the algorithm wants; 0 for rigid jobs, whatever they asked for."""
    runtime_arguments: dict[str, str] = field(default_factory=dict)
    phases: tuple[int, int] = (0, 0)
    """Iterations of phases done, and in all, when it was last looked at."""


@dataclass(slots=True, eq=False)
class NodeEntry:
    """A node in the books."""

    id: int
    type: int
    gpus: int
    state: int = FREE
    running: list[JobEntry] = field(default_factory=list)
    expected: list[JobEntry] = field(default_factory=list)
    busy_gpus: int = 0
    """Which GPUs compute, a bit each."""


class Use(NamedTuple):
    """Which jobs are on some nodes, and for which they are kept, from a time on; alike for all of them."""

    time: float
    nodes: tuple[int, ...]
    state: int
    running: tuple[JobEntry, ...]
    expected: tuple[JobEntry, ...]


@dataclass(slots=True, frozen=True)
class Reply:
    """What an algorithm wants of a job.

    Attributes
    ----------
    job
        Its id.
    nodes
        The nodes that it is to have, in rank order.
    gpus_per_node
        How many GPUs of each. Of no importance for rigid jobs, for which algorithms answer None as well.
    kill
        Whether it is to be killed; the rest does not count then.
    runtime_arguments
        Names and texts for its formulas, in place of those before; None to leave them.
    """

    job: int
    nodes: tuple[int, ...]
    gpus_per_node: int | None = 0
    kill: bool = False
    runtime_arguments: Mapping[str, str] | None = None


class Ledger:
    """The books.

    Parameters
    ----------
    nodes
        Every compute node's type and number of GPUs, by id.
    oversubscription
        Whether several jobs may be on one node.

    Attributes
    ----------
    jobs, nodes
        What was submitted so far, and all nodes; by id.
    has_gpus
        Whether any node has GPUs.
    changed_jobs
        What is to be told: jobs in the order of their first change.
    changed_nodes
        Ids of nodes in the order of their changes; as often as they changed.
    uses
        Every change of which jobs are on a node, in order; nodes that change alike at once are one.
    """

    def __init__(self, nodes: Iterable[tuple[int, int]], *, oversubscription: bool) -> None:
        self.jobs: list[JobEntry] = []
        self.nodes = [NodeEntry(number, kind, gpus) for number, (kind, gpus) in enumerate(nodes)]
        self.has_gpus = any(node.gpus for node in self.nodes)
        self.changed_jobs: dict[JobEntry, None] = {}
        self.changed_nodes = list(range(len(self.nodes)))
        self.uses = [Use(0.0, tuple(range(len(self.nodes))), FREE, (), ())]
        self._oversubscription = oversubscription

    def told(self) -> None:
        """Take note that the algorithm has been told of all changes."""
        self.changed_jobs.clear()
        self.changed_nodes.clear()

    def submit(self, job: ElastisimJob) -> JobEntry:
        """Enter a job."""
        entry = JobEntry(len(self.jobs), TYPES[job.type], job)
        self.jobs.append(entry)
        self.changed_jobs[entry] = None
        return entry

    def take(self, reply: Reply) -> JobEntry:
        """Enter what the algorithm wants of a job; its state says what is to follow.

        Raises
        ------
        AlgorithmError
            If ElastiSim would not have it: too few or too many nodes, a node that another job has, or nodes
            for a job whose nodes cannot change.
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
        """Let a job begin on the nodes that it is assigned."""
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
        """Let a job go over to the nodes that it is assigned."""
        before, after = entry.executing, list(entry.assigned)
        entry.executing = after
        self._unexpect(entry)
        self._set(entry, IN_RECONFIGURATION)
        had, has = set(before), set(after)
        self._occupy(entry, [number for number in after if number not in had], now)
        self._leave(entry, sorted(had - has), now)

    def go_on(self, entry: JobEntry) -> None:
        """Let a job's phases go on: the tasks of a start or reconfiguration are done, or nothing changed."""
        self._set(entry, RUNNING)

    def end(self, entry: JobEntry, now: float, state: int) -> None:
        """Take a job from its nodes: completed or killed."""
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
        """Enter a change of nodes: those in a row that are alike now as one, of which there are few."""
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
