"""The state of a cluster at one instant, as its dumps describe it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LiveJob", "LiveNode", "LivePriority", "LiveReservation", "LiveState", "Phase"]

Phase = Literal["running", "completing", "suspended", "pending", "held", "ended"]
"""What a job does: it holds nodes (the first three), waits, is held by a user or operator, or has ended."""


@dataclass(frozen=True, kw_only=True)
class LiveJob:
    """A job, or the tasks of a job array that still wait: Slurm lists them as one record.

    Times are seconds since 1970 UTC. Fields that a dump does not have, or that are not set, are None, empty,
    or as stated.

    Attributes
    ----------
    job_id
        Slurm's number.
    phase
        Running, waiting, held, and so on.
    slurm_state
        Slurm's words for its state, as ``"RUNNING"`` or ``"CANCELLED+COMPLETING"``.
    reason
        Slurm's reason for the wait, as ``"Resources"``.
    name, user, account, qos, reservation
        Names; empty without one.
    partitions
        The partitions that it may use; one for a job that holds nodes.
    submit_time, eligible_time, start_time
        ``eligible_time`` is the end of delays by a begin time or by dependencies; ``start_time`` is the start
        of a job that has started.
    planned_start
        The start that Slurm planned for a job that waits.
    time_limit
        Seconds; infinite for UNLIMITED. None: the limit of the partition.
    cpus, nodes_least, nodes_most
        CPUs, and least and most nodes: requested, or held. ``nodes_most`` is None without a bound.
    tasks, cpus_per_task, tasks_per_node
        As requested.
    memory_per_cpu, memory_per_node
        Requested memory, MiB; 0 per node for all memory of the nodes.
    gres_per_node, gres_per_task, gres_per_job
        Requested generic resources: amounts by name, without types.
    exclusive
        Whether it takes whole nodes.
    constraint
        The requested features.
    nodes
        Names of the nodes that it holds.
    cpus_on_nodes
        The CPUs that it holds on each of `nodes`.
    required_nodes, excluded_nodes, planned_nodes
        Names of nodes: requested, excluded, and those of Slurm's plan.
    dependency
        The dependencies that are not fulfilled, in the syntax of ``sbatch``.
    is_dependency_failed
        Whether a dependency can never be fulfilled.
    priority
        Slurm's priority; 0 for a job that is held.
    priorities
        Priorities by partition, if they differ.
    nice
        Adjustment of the priority.
    requeue
        Whether it may be requeued.
    licenses
        Requested licenses, as text.
    array_id, array_indices, array_limit
        Number of its array, its indices in it (several for tasks that wait), and the greatest number of tasks
        that run at once.
    het_id, het_offset
        Number of its heterogeneous job, and its position in it.
    """

    job_id: int
    phase: Phase
    slurm_state: str
    reason: str = ""
    name: str = ""
    user: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    partitions: tuple[str, ...] = ()
    submit_time: float
    eligible_time: float | None = None
    start_time: float | None = None
    planned_start: float | None = None
    time_limit: float | None = None
    cpus: int
    nodes_least: int = 1
    nodes_most: int | None = None
    tasks: int | None = None
    cpus_per_task: int | None = None
    tasks_per_node: int | None = None
    memory_per_cpu: int | None = None
    memory_per_node: int | None = None
    gres_per_node: Mapping[str, int] = field(default_factory=dict)
    gres_per_task: Mapping[str, int] = field(default_factory=dict)
    gres_per_job: Mapping[str, int] = field(default_factory=dict)
    exclusive: bool = False
    constraint: str = ""
    nodes: tuple[str, ...] = ()
    cpus_on_nodes: tuple[int, ...] | None = None
    required_nodes: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    planned_nodes: tuple[str, ...] = ()
    dependency: str = ""
    is_dependency_failed: bool = False
    priority: int | None = None
    priorities: Mapping[str, int] = field(default_factory=dict)
    nice: int = 0
    requeue: bool | None = None
    licenses: str = ""
    array_id: int | None = None
    array_indices: tuple[int, ...] = ()
    array_limit: int | None = None
    het_id: int | None = None
    het_offset: int | None = None

    @property
    def holds_nodes(self) -> bool:
        """True if it holds nodes."""
        return self.phase in {"running", "completing", "suspended"}

    @property
    def runs(self) -> bool:
        """True if it holds nodes and has not ended: running or suspended."""
        return self.phase in {"running", "suspended"}

    @property
    def waits(self) -> bool:
        """True if it has not started: pending or held."""
        return self.phase in {"pending", "held"}

    @property
    def count(self) -> int:
        """Number of jobs in this record: tasks of an array that wait are one record."""
        return max(len(self.array_indices), 1)


@dataclass(frozen=True, kw_only=True)
class LiveNode:
    """A node.

    Attributes
    ----------
    name
        The name.
    states
        Slurm's words for its state, in capitals: ``("MIXED", "DRAIN")``.
    cpus, allocated_cpus
        CPUs in all, and those that jobs hold. None if the dump lists groups of nodes (``sinfo`` since 23.02)
        from which they do not follow.
    partitions
        The names of its partitions.
    """

    name: str
    states: tuple[str, ...]
    cpus: int | None = None
    allocated_cpus: int | None = None
    partitions: tuple[str, ...] = ()

    @property
    def is_available(self) -> bool:
        """True if jobs may start on it: neither down, nor drained, nor about to reboot or to fail."""
        return not _UNAVAILABLE.intersection(self.states)

    @property
    def is_busy(self) -> bool:
        """True if jobs hold some of it."""
        if self.allocated_cpus is not None:
            return self.allocated_cpus > 0
        return bool({"ALLOCATED", "MIXED", "COMPLETING", "DRAINING"}.intersection(self.states))


_UNAVAILABLE = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE"}
    | {"REBOOT_ISSUED", "NOT_RESPONDING", "NO_RESPOND", "INVALID_REG", "BLOCKED"}
)
"""Words of states in which no job starts on a node. Nodes in maintenance or reserved are of a reservation."""


@dataclass(frozen=True, kw_only=True)
class LiveReservation:
    """A reservation.

    Attributes
    ----------
    name
        The name.
    start_time, end_time
        Seconds since 1970 UTC; of the occurrence under way, or the next one. ``end_time`` is infinite without
        an end.
    nodes
        The names of its nodes; empty if it reserves none.
    cores
        Number of reserved cores, if it reserves less than whole nodes; else None.
    flags
        Slurm's flags, in capitals.
    users, accounts, groups
        Who may use it; a name that begins with ``-`` is excluded.
    partition
        Its partition; empty without one.
    """

    name: str
    start_time: float
    end_time: float
    nodes: tuple[str, ...] = ()
    cores: int | None = None
    flags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    partition: str = ""


@dataclass(frozen=True, kw_only=True)
class LivePriority:
    """The priority of a job in a partition.

    Attributes
    ----------
    job_id
        Slurm's number.
    partition
        The partition; empty if the dump has no such column.
    priority
        The priority.
    factors
        Weighted factors by the names of the columns, as ``AGE`` and ``FAIRSHARE``; without texts (``TRES``).
    """

    job_id: int
    partition: str
    priority: int
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """The jobs, nodes and reservations of a cluster at one instant, read from its dumps.

    Attributes
    ----------
    now
        The time of the dumps, seconds since 1970 UTC.
    jobs
        All jobs of the dump, also those that have just ended.
    nodes, reservations, priorities
        None without their dumps.
    release
        The release of Slurm, as ``"23.11.4"``, if a dump names it; else empty.
    files
        The files that were read.
    """

    now: float
    jobs: tuple[LiveJob, ...]
    nodes: tuple[LiveNode, ...] | None = None
    reservations: tuple[LiveReservation, ...] | None = None
    priorities: tuple[LivePriority, ...] | None = None
    release: str = ""
    files: tuple[str, ...] = ()

    @cached_property
    def holding(self) -> tuple[LiveJob, ...]:
        """The jobs that hold nodes."""
        return tuple(job for job in self.jobs if job.holds_nodes)

    @cached_property
    def running(self) -> tuple[LiveJob, ...]:
        """The jobs that hold nodes and have not ended."""
        return tuple(job for job in self.jobs if job.runs)

    @cached_property
    def waiting(self) -> tuple[LiveJob, ...]:
        """The jobs that have not started, those that are held included."""
        return tuple(job for job in self.jobs if job.waits)

    @cached_property
    def unexplained(self) -> Mapping[str, int]:
        """CPUs that are busy on nodes, and that no job of the dump holds, by the names of the nodes.

        ``PrivateData=jobs`` hides the jobs of other users. If the CPUs of a job on each of its nodes are
        unknown, the job counts with the most that it can hold there. CPUs count as 1 if the dump of the nodes
        has none. Empty without a dump of the nodes.
        """
        held: dict[str, float] = {}
        for job in self.holding:
            for name, cpus in zip(job.nodes, _most_cpus(job), strict=True):
                held[name] = held.get(name, 0) + cpus
        found: dict[str, int] = {}
        for node in self.nodes or ():
            if node.allocated_cpus is None:
                beyond = int(node.is_busy and node.name not in held)
            else:
                beyond = node.allocated_cpus - int(min(held.get(node.name, 0), node.allocated_cpus))
            if beyond > 0:
                found[node.name] = beyond
        return MappingProxyType(found)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per job of the dump that has not ended.

        Columns: ``job_id``, ``array_tasks`` (number of waiting tasks of an array, else 1), ``phase``,
        ``slurm_state``, ``reason``, ``user``, ``account``, ``qos``, ``partition`` (comma-separated),
        ``cpus``, ``nodes`` (least number), ``time_limit`` (s; infinite: UNLIMITED, null: the partition's),
        ``waited`` and ``ran`` (s until now; null if not so), ``planned_start`` (s from now), ``priority``,
        ``node_names``.
        """
        alive = [job for job in self.jobs if job.phase != "ended"]
        rows = [
            (
                *(job.job_id, job.count, job.phase, job.slurm_state, job.reason),
                *(job.user, job.account, job.qos, ",".join(job.partitions), job.cpus, job.nodes_least),
                job.time_limit,
                self.now - job.submit_time if job.waits else None,
                None if job.start_time is None else self.now - job.start_time,
                None if job.planned_start is None else job.planned_start - self.now,
                *(job.priority, [*job.nodes]),
            )
            for job in alive
        ]
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


_SCHEMA: dict[str, pl.DataType] = {
    "job_id": pl.Int64(),
    "array_tasks": pl.Int64(),
    "phase": pl.String(),
    "slurm_state": pl.String(),
    "reason": pl.String(),
    "user": pl.String(),
    "account": pl.String(),
    "qos": pl.String(),
    "partition": pl.String(),
    "cpus": pl.Int64(),
    "nodes": pl.Int64(),
    "time_limit": pl.Float64(),
    "waited": pl.Float64(),
    "ran": pl.Float64(),
    "planned_start": pl.Float64(),
    "priority": pl.Int64(),
    "node_names": pl.List(pl.String()),
}


def _most_cpus(job: LiveJob) -> list[float]:
    """Return the most CPUs that a job can hold on each of its nodes; it has at least one on each."""
    if job.phase == "completing":
        # The CPUs of some of its nodes may have been given back.
        return [math.inf] * len(job.nodes)
    if job.exclusive:
        return [math.inf] * len(job.nodes)
    if job.cpus_on_nodes is not None:
        return [*job.cpus_on_nodes]
    return [max(job.cpus - len(job.nodes) + 1, 1)] * len(job.nodes)
