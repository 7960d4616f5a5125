"""Slurm's controller: which waiting jobs one call of its main loop or backfill starts, and where (S25)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from batchlab._kernel import SlurmController

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Part = tuple[int, int, int]
_Holder = tuple[int, float, list[_Part]]
_Verdict = Literal["started", "planned", "waits", "not_tried"]
_Found = tuple[str, float | None, list[_Part] | None]

__all__ = ["Allotment", "Controller", "Entry", "Held", "NodePartition", "Outcome", "Situation"]


@dataclass(frozen=True)
class Allotment:
    """What a job has on one node: CPUs, and memory in MB."""

    node: int
    cpus: int
    memory: int = 0


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
    """

    job: int
    end: float
    allotments: Sequence[Allotment]


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
    exclusive
        Whether it takes whole idle nodes (`--exclusive`).
    is_open
        Whether it may start or be planned: not where a limit of accounts or of its partition stands against
        it.
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
    exclusive: bool = False
    is_open: bool = True


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
        in each.
    """

    now: float
    available: Sequence[int]
    running: Sequence[Held]
    completing: Sequence[Held]
    queue: Sequence[Entry]


@dataclass(frozen=True)
class Outcome:
    """What becomes of an entry: "started" on these nodes, "planned" at a time, "waits", or "not_tried"."""

    verdict: _Verdict
    start: float | None = None
    allotments: tuple[Allotment, ...] = ()


class Controller:
    """The part of Slurm that decides.

    Parameters
    ----------
    nodes
        CPUs and memory (MB) of each node.
    partitions
        The partitions; None for one of all nodes.
    select
        "linear" for whole nodes (`select/linear`), "cores" for CPUs and memory (`select/cons_tres`).
    resolution
        `bf_resolution`, seconds.
    window
        How far backfill plans, seconds (`bf_window` is in minutes).
    epoch
        What is added to times to get seconds of the clock: plans begin and end at multiples of the
        resolution there.

    Raises
    ------
    ValueError
        If a node or a partition is named that is not there.
    """

    def __init__(
        self,
        nodes: Iterable[tuple[int, int]],
        partitions: Iterable[NodePartition] | None = None,
        *,
        select: Literal["linear", "cores"] = "linear",
        resolution: float = 60.0,
        window: float = 86_400.0,
        epoch: float = 0.0,
    ) -> None:
        machine = [(cpus, memory) for cpus, memory in nodes]
        given = [NodePartition(range(len(machine)))] if partitions is None else partitions
        members = [
            (list(each.nodes), len(machine) if each.max_nodes is None else each.max_nodes) for each in given
        ]
        self._kernel = SlurmController(select, machine, members, resolution, window, epoch)

    def main_loop(self, situation: Situation) -> list[Outcome]:
        """Call the main loop: what becomes of each entry of the queue."""
        return _outcomes(self._kernel.main_loop(*_given(situation)))

    def backfill(self, situation: Situation) -> list[Outcome]:
        """Call backfill: what becomes of each entry of the queue."""
        return _outcomes(self._kernel.backfill(*_given(situation)))


def _given(
    situation: Situation,
) -> tuple[float, list[int], list[_Holder], list[_Holder], Sequence[Entry]]:
    running, completing = (
        [
            (held.job, held.end, [(part.node, part.cpus, part.memory) for part in held.allotments])
            for held in group
        ]
        for group in (situation.running, situation.completing)
    )
    return situation.now, list(situation.available), running, completing, situation.queue


def _outcomes(found: Iterable[_Found]) -> list[Outcome]:
    return [
        Outcome(cast("_Verdict", verdict), start, tuple(Allotment(*part) for part in parts or ()))
        for verdict, start, parts in found
    ]
