"""Slurm's controller: which queued jobs one call of the main loop or of backfill starts, and where (S25)."""

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
    """The allocation of a job on one node: CPUs, memory in MB, and amounts of generic resources.

    The amounts are one per generic resource of the controller; empty if it has none.
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
        Its number, which orders jobs with equal ends.
    end
        The end of its time limit, seconds.
    allotments
        Its allocation, per node.
    preemption_class
        The index of its quality of service, or of the tier of its partition, as in `Precedence`.
    started
        When it started, seconds.
    may_be_preempted
        Whether it may be preempted: false while it is exempt.
    counted_in
        The limits on nodes that count it: jobs with a limit in common prefer the same nodes.
    over_time_limit
        Seconds that it may exceed its limit: OverTimeLimit of its partition or of the cluster.
    noticed
        Whether it was selected for preemption and is in its grace time, which ends at `end`.
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
    """A partition: its nodes, and the maximum number of them per job (None: all)."""

    nodes: Sequence[int]
    max_nodes: int | None = None


@dataclass(frozen=True)
class Entry:
    """A queued job in one of its partitions.

    Parameters
    ----------
    job
        Its number.
    limit
        Its time limit in the partition, seconds.
    partition
        The index of the partition.
    nodes
        Requested nodes (`--nodes`); 0 if not requested.
    tasks
        Number of tasks (`--ntasks`); 0 if it follows from nodes and tasks per node.
    cpus_per_task
        CPUs per task.
    tasks_per_node
        Tasks per node (`--ntasks-per-node`); 0 if not requested.
    memory
        MB per node (`--mem`) or per CPU (`--mem-per-cpu`).
    memory_is_per_cpu
        Whether memory is per CPU.
    generic
        Requested amount of each generic resource of the controller; empty for none.
    generic_is_per_task
        Whether these are per task (`--gpus-per-task`), else per node (`--gres`).
    exclusive
        Whether it requests whole idle nodes (`--exclusive`).
    suitable
        The nodes that satisfy its requests when idle, such as features (`--constraint`); None for all nodes
        of its partition.
    is_open
        Whether it may start or be planned: false if a limit of accounts or of its partition prevents it.
    is_evaluated
        If it is not open: whether its evaluation still sets node weights. True for limits on held resources;
        with limits on numbers of jobs, Slurm does not evaluate the job.
    preemption_class
        As for a running job.
    may_preempt
        Whether jobs may be preempted for it. Slurm preempts no jobs for KillWait + MessageTimeout after the
        first job preempted for it.
    counted_in
        As for a running job.
    reservation
        The index of the reservation that it requests, in `Situation.reservations`.
    user, association, array
        The numbers of its user, association and array, for the limits of backfill on depth and plans; None if
        it is not counted.
    priority
        Its priority, for `bf_min_prio_reserve`.
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
    """The input of one call.

    Parameters
    ----------
    now
        The second at which the call begins.
    available
        The nodes that are up and accept jobs.
    running
        The running jobs.
    completing
        Jobs that have ended while some of their nodes have not confirmed the end.
    queue
        The queued jobs in the order of consideration, with one entry per partition. Requested reservations
        have begun.
    reservations
        The known reservations.
    """

    now: float
    available: Sequence[int]
    running: Sequence[Held]
    completing: Sequence[Held]
    queue: Sequence[Entry]
    reservations: Sequence[ReservedNodes] = ()


@dataclass(frozen=True)
class Precedence:
    """The rules of preemption.

    Parameters
    ----------
    preempts
        For each class the indices of the classes that it may preempt.
    importance
        The importance of each class: less important jobs are preempted first.
    youngest_first
        Whether, within a class, the latest start is preempted first instead of the fewest nodes
        (`youngest_first` of PreemptParameters).
    grace_time
        Seconds that a job continues after its selection for preemption (GraceTime).
    """

    preempts: Sequence[Sequence[int]]
    importance: Sequence[float]
    youngest_first: bool = False
    grace_time: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of an entry.

    Parameters
    ----------
    verdict
        "started"; "planned"; "preempts": jobs are preempted for it, and it is planned from now on; "waits";
        "not_tried".
    start
        The planned start, seconds.
    allotments
        Its allocation.
    preempted
        The numbers of jobs that are preempted now or after their grace time, without those already in their
        grace time.
    """

    verdict: _Verdict
    start: float | None = None
    allotments: tuple[Allotment, ...] = ()
    preempted: tuple[int, ...] = ()


class Controller:
    """The decision logic of Slurm's controller.

    Parameters
    ----------
    nodes
        CPUs and memory (MB) of each node.
    partitions
        The partitions; None for one partition of all nodes.
    parameters
        The parameters of the policy ``slurm``, as in ``batchlab.Policy.parse(configuration.policy).slurm``:
        selection of nodes, depths, numbers of plans and starts, resolution and window. Parameters for the
        times of calls have no effect here.
    generic
        The amount of each generic resource (gres), such as GPUs, per node; None for none. Requires "cores":
        whole nodes have all of their resources.
    gpu
        The index of the generic resource that counts GPUs: jobs that request it prefer nodes with many.
    weights
        The weight of each node: nodes with the least weight are allocated first; 1 by default.
    precedence
        The rules of preemption; None for no preemption.

    Raises
    ------
    ValueError
        If a node or a partition does not exist, or the number of amounts differs from the number of generic
        resources.

    Notes
    -----
    Nodes keep the weights of the job that was evaluated last. Therefore calls must be made in order, and each
    job must be evaluated at its submission; this only matters with node weights or limits on nodes.
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
            The input of the call.
        full
            Whether it considers the whole queue, instead of one entry more than `default_queue_depth`.

        Returns
        -------
        list[Outcome]
            The outcome of each entry of the queue.
        """
        found, self._weights = self._kernel.main_loop(situation, self._weights, full)
        return _outcomes(found)

    def backfill(self, situation: Situation) -> list[Outcome]:
        """Call backfill, and return the outcome of each entry of the queue."""
        found, self._weights = self._kernel.backfill(situation, self._weights)
        return _outcomes(found)

    def submit(self, situation: Situation) -> None:
        """Evaluate newly submitted jobs in the queue: nodes have the weights of the last one."""
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
