"""Slurm's controller: which waiting jobs one call of its main loop or backfill starts, and where (S25)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, cast

from batchlab._kernel import SlurmController

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from batchlab.policy import SlurmParameters

_Part = tuple[int, int, int, list[int]]
_Verdict = Literal["started", "planned", "preempts", "waits", "not_tried"]
_Found = tuple[str, float | None, list[_Part] | None, list[int]]

__all__ = [
    "Allotment",
    "Controller",
    "Entry",
    "Held",
    "NodePartition",
    "Outcome",
    "Precedence",
    "ReservedNodes",
    "Situation",
]


@dataclass(frozen=True)
class Allotment:
    """What a job has on one node: CPUs, memory in MB, and so much of each generic resource of the controller.

    The latter is empty where it has none.
    """

    node: int
    cpus: int
    memory: int = 0
    generic: tuple[int, ...] = ()


@dataclass(frozen=True)
class Held:
    """A job that holds nodes.

    Parameters
    ----------
    job
        Its number, by which equal ends are ordered.
    end
        When its time limit ends it, seconds.
    allotments
        What it holds.
    preemption_class
        The number of its quality of service, or of the tier of its partition: what `Precedence` go by.
    started
        When it started, seconds.
    may_be_preempted
        Whether it may be at all: not while it is exempt.
    counted_in
        The numbers of the limits on nodes that count its own: jobs with one in common go to the same nodes.
    over_time_limit
        Seconds that it may run beyond its limit: OverTimeLimit of its partition, or of the cluster.
    noticed
        Whether it was chosen for preemption and runs on for its grace time, which is over at `end`.
    """

    job: int
    end: float
    allotments: Sequence[Allotment]
    preemption_class: int = 0
    started: float = 0.0
    may_be_preempted: bool = True
    counted_in: Sequence[int] = ()
    over_time_limit: float = 0.0
    noticed: bool = False


@dataclass(frozen=True)
class NodePartition:
    """A partition: its nodes, and the most of them that a job may have (None: all)."""

    nodes: Sequence[int]
    max_nodes: int | None = None


@dataclass(frozen=True)
class Entry:
    """A job that waits, in one of its partitions.

    Parameters
    ----------
    job
        Its number.
    limit
        Its time limit there, seconds.
    partition
        The number of the partition.
    nodes
        The nodes that it asks for (`--nodes`); 0 where it does not say.
    tasks
        Its tasks (`--ntasks`); 0 where they follow from nodes and tasks per node.
    cpus_per_task
        CPUs of each task.
    tasks_per_node
        Tasks on each node (`--ntasks-per-node`); 0 where it does not say.
    memory
        MB on each node (`--mem`), or for each CPU (`--mem-per-cpu`).
    memory_is_per_cpu
        Which of them.
    generic
        How much of each generic resource of the controller it asks for; empty for none.
    generic_is_per_task
        Whether that is for each task (`--gpus-per-task`); else on each node (`--gres`).
    exclusive
        Whether it takes whole idle nodes (`--exclusive`).
    suitable
        The nodes that have what it asks for when they are idle, as its features (`--constraint`); None where
        all of its partition have.
    is_open
        Whether it may start or be planned: not where a limit of accounts or of its partition stands against
        it.
    is_evaluated
        Where it is not open: whether nodes get its weights all the same. So it is with limits on what jobs
        hold; where jobs are counted Slurm does not get that far.
    preemption_class
        As that of a job that runs.
    may_preempt
        Whether others may be preempted for it. Slurm preempts none for KillWait + MessageTimeout after the
        first that it has preempted for the job.
    counted_in
        As of a job that runs.
    reservation
        The number of the reservation that it asks for, in `Situation.reservations`.
    user, association, array
        The numbers of its user, of its association and of its array, by which depths and plans of backfill
        are counted; None where it has none, and is not counted.
    priority
        Its priority, which `bf_min_prio_reserve` is compared with.
    eligible
        The second since which it has been eligible, for `bf_min_age_reserve`.
    """

    job: int
    limit: float
    partition: int = 0
    nodes: int = 0
    tasks: int = 0
    cpus_per_task: int = 1
    tasks_per_node: int = 0
    memory: int = 0
    memory_is_per_cpu: bool = False
    generic: Sequence[int] = ()
    generic_is_per_task: bool = False
    exclusive: bool = False
    suitable: Sequence[int] | None = None
    is_open: bool = True
    is_evaluated: bool = True
    preemption_class: int = 0
    may_preempt: bool = True
    counted_in: Sequence[int] = ()
    reservation: int | None = None
    user: int | None = None
    association: int | None = None
    array: int | None = None
    priority: float = 0.0
    eligible: float = -inf


@dataclass(frozen=True)
class ReservedNodes:
    """A reservation of the machine: its nodes, its begin and its end in seconds."""

    nodes: Sequence[int]
    begin: float
    end: float


@dataclass(frozen=True)
class Situation:
    """What one call sees.

    Parameters
    ----------
    now
        The second at which it begins.
    available
        The nodes that are up and take jobs.
    running
        The jobs that run.
    completing
        The jobs that are over, and whose nodes have not all answered.
    queue
        The jobs that wait, in the order in which they are considered; one in several partitions has an entry
        in each. Where it asks for a reservation, that has begun.
    reservations
        The reservations that are known.
    """

    now: float
    available: Sequence[int]
    running: Sequence[Held]
    completing: Sequence[Held]
    queue: Sequence[Entry]
    reservations: Sequence[ReservedNodes] = ()


@dataclass(frozen=True)
class Precedence:
    """Which jobs may preempt which.

    Parameters
    ----------
    preempts
        For each class those that it may preempt, by their numbers.
    importance
        For each class its importance: jobs of the least go first.
    youngest_first
        Whether of one class the latest start goes first, and not the fewest nodes (`youngest_first` of
        PreemptParameters).
    grace_time
        Seconds that a job runs on after it was chosen for preemption (GraceTime).
    """

    preempts: Sequence[Sequence[int]]
    importance: Sequence[float]
    youngest_first: bool = False
    grace_time: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What becomes of an entry.

    Parameters
    ----------
    verdict
        "started"; "planned"; "preempts": others are preempted for it, and it is planned from now on;
        "waits"; "not_tried".
    start
        When it is planned to start, seconds.
    allotments
        What it gets.
    preempted
        The numbers of the jobs that go, or are to go after their grace time; those that run on in it already
        are left out.
    """

    verdict: _Verdict
    start: float | None = None
    allotments: tuple[Allotment, ...] = ()
    preempted: tuple[int, ...] = ()


class Controller:
    """The part of Slurm that decides.

    Parameters
    ----------
    nodes
        CPUs and memory (MB) of each node.
    partitions
        The partitions; None for one of all nodes.
    parameters
        Those of the policy ``slurm``, as ``batchlab.Policy.parse(configuration.policy).slurm`` has them: the
        selection of nodes, depths, numbers of plans and starts, resolution and window. What says when calls
        are made has no effect on a call.
    generic
        For each node what it has of each generic resource (gres), as GPUs; None where none has any. Goes with
        "cores": whole nodes have all that they have.
    gpu
        The place of the one among these that counts GPUs: jobs that ask for some go to nodes with many.
    weights
        The weight of each node: those of the least are taken first; 1 unless given.
    precedence
        Which jobs may preempt which; None where none may.

    Raises
    ------
    ValueError
        If a node or a partition is named that is not there, or amounts of generic resources are not as many
        as there are resources.

    Notes
    -----
    Nodes keep the weights of the job that was evaluated last. So calls have to be made in order, and each job
    is evaluated when it is submitted; that matters only where nodes have weights or limits count them.
    """

    def __init__(
        self,
        nodes: Iterable[tuple[int, int]],
        partitions: Iterable[NodePartition] | None = None,
        *,
        parameters: SlurmParameters,
        generic: Iterable[Sequence[int]] | None = None,
        gpu: int | None = None,
        weights: Iterable[int] | None = None,
        precedence: Precedence | None = None,
    ) -> None:
        machine = [(cpus, memory) for cpus, memory in nodes]
        given = [NodePartition(range(len(machine)))] if partitions is None else partitions
        members = [
            (list(each.nodes), len(machine) if each.max_nodes is None else each.max_nodes) for each in given
        ]
        self._weights = [1] * len(machine) if weights is None else [*weights]
        kinds = [list(each) for each in generic or ()], gpu
        settings = parameters.settings
        self._kernel = SlurmController(settings, machine, kinds, members, self._weights, precedence)

    def main_loop(self, situation: Situation, *, full: bool = True) -> list[Outcome]:
        """Call the main loop.

        Parameters
        ----------
        situation
            What the call sees.
        full
            Whether it looks at the whole queue; else at one entry more than `default_queue_depth`.

        Returns
        -------
        list[Outcome]
            What becomes of each entry of the queue.
        """
        found, self._weights = self._kernel.main_loop(situation, self._weights, full)
        return _outcomes(found)

    def backfill(self, situation: Situation) -> list[Outcome]:
        """Call backfill: what becomes of each entry of the queue."""
        found, self._weights = self._kernel.backfill(situation, self._weights)
        return _outcomes(found)

    def submit(self, situation: Situation) -> None:
        """Evaluate the jobs of the queue, which have just been submitted: nodes have weights of the last."""
        self._weights = self._kernel.submit(situation, self._weights)


def _outcomes(found: Iterable[_Found]) -> list[Outcome]:
    return [
        Outcome(
            cast("_Verdict", verdict),
            start,
            tuple(
                Allotment(node, cpus, memory, tuple(generic)) for node, cpus, memory, generic in parts or ()
            ),
            tuple(preempted),
        )
        for verdict, start, parts, preempted in found
    ]
