"""Partitions, queues, and the conditions under which they admit jobs; `workload.routing` applies them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from batchlab.core.node_ranges import node_ranges
from batchlab.core.rules import Whole
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import account_rules, rules
from batchlab.system.checks import check_unique, checked, names, names_if_any, set_field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = [
    "Conditions",
    "JobQueue",
    "Partition",
    "check_partitions",
    "check_queues",
]

_LARGEST_PRIORITY = 2**31 - 1
_BOUNDS = ("processors", "nodes", "time")
OWNERS = ("users", "groups", "accounts", "qos")
"""Conditions on a name in a column of the jobs."""


@dataclass(frozen=True)
class Conditions:
    """Conditions under which a queue or a partition admits a job; all given conditions must hold.

    Parameters
    ----------
    min_processors, max_processors
        Bounds of the number of requested processors: tasks × ``core`` per task, or the number of tasks if
        nodes have no ``core``.
    min_nodes, max_nodes
        Bounds of the minimum number of nodes that a job can run on.
    min_time, max_time
        Bounds of the time_limit, seconds. A job without a limit exceeds every `max_time`.
    users, groups, accounts, qos
        Names in the columns ``user``, ``group``, ``account`` and ``qos`` (see `Workload`) whose jobs are
        admitted. [default: all]

    Raises
    ------
    SystemDescriptionError
        If a bound is below 1 (a time: below 0), a minimum is above its maximum, or a list of names is empty.
    """

    min_processors: int | None = None
    max_processors: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    min_time: float | None = None
    max_time: float | None = None
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    accounts: tuple[str, ...] | None = None
    qos: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in _BOUNDS:
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            rule: Callable[[object], float] = rules.seconds if name == "time" else rules.at_least_one
            for key, value in ((f"min_{name}", least), (f"max_{name}", most)):
                if value is not None:
                    set_field(self, key, checked(rule, value, key))
            if least is not None and most is not None and least > most:
                raise SystemDescriptionError(
                    f"min_{name} = {shown(least)}; must be at most max_{name} = {shown(most)}."
                )
        for name in OWNERS:
            if getattr(self, name) is not None:
                set_field(self, name, names(getattr(self, name), name))

    def bounds(self, name: str) -> tuple[float, float]:
        """Return the minimum and maximum of ``processors``, ``nodes`` or ``time``."""
        least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
        return (0 if least is None else least, math.inf if most is None else most)

    @property
    def given(self) -> dict[str, object]:
        """The conditions that are given, by name."""
        return {
            key.name: getattr(self, key.name) for key in fields(self) if getattr(self, key.name) is not None
        }


@dataclass(frozen=True)
class Partition:
    """A named set of nodes. Partitions may overlap.

    Parameters
    ----------
    name
        Unique among the partitions; jobs name it in the column ``partition``.
    nodes
        The nodes, as ranges of their numbers: ``"0-11,16"``. [default: all nodes, unless `groups` is given]
    groups
        Node groups whose nodes belong to the partition too.
    tier
        Priority tier, an integer. Jobs of a higher tier come first in any order.
    admits
        Conditions on its jobs. [default: all jobs]
    priority_factor
        Priority, >= 0; the partition factor of the order ``multifactor`` is this over the maximum.
    over_time_limit
        Seconds that its jobs may run beyond their limits under the policy ``slurm``. [default: the policy's
        ``over_time_limit``]
    exclusive
        True if its jobs use nodes exclusively, as jobs with the column ``exclusive`` do; this includes jobs
        that may run in other partitions too.

    Raises
    ------
    SystemDescriptionError
        If a value is invalid.
    """

    name: str
    nodes: str = ""
    groups: tuple[str, ...] = ()
    tier: int = 1
    admits: Conditions = field(default_factory=Conditions)
    priority_factor: float = 1.0
    over_time_limit: float | None = None
    exclusive: bool = False

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "Partition: name"))
        where = f"Partition {self.name!r}"
        set_field(self, "groups", names_if_any(self.groups, f"{where}: groups"))
        set_field(self, "tier", checked(_priority, self.tier, f"{where}: tier"))
        checked(node_ranges, self.nodes, f"{where}: nodes")
        factor = checked(account_rules.not_negative, self.priority_factor, f"{where}: priority_factor")
        set_field(self, "priority_factor", factor)
        if self.over_time_limit is not None:
            over = checked(account_rules.not_negative, self.over_time_limit, f"{where}: over_time_limit")
            set_field(self, "over_time_limit", over)
        set_field(self, "exclusive", checked(rules.truth, self.exclusive, f"{where}: exclusive"))
        _check_conditions(self.admits, where)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The ranges in `nodes`: first node, and the node after the last."""
        return node_ranges(self.nodes)


@dataclass(frozen=True)
class JobQueue:
    """A queue of waiting jobs.

    Parameters
    ----------
    name
        Unique among the queues; jobs name it in the column ``queue``.
    partitions
        The partitions that it feeds, in the order in which they are tried.
    priority
        Priority in the order ``mpp``, an integer; the highest is first.
    admits
        Conditions on its jobs. [default: all jobs]

    Raises
    ------
    SystemDescriptionError
        If a value is invalid.
    """

    name: str
    partitions: tuple[str, ...] = ()
    priority: int = 0
    admits: Conditions = field(default_factory=Conditions)

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "JobQueue: name"))
        where = f"JobQueue {self.name!r}"
        set_field(self, "partitions", names_if_any(self.partitions, f"{where}: partitions"))
        set_field(self, "priority", checked(_priority, self.priority, f"{where}: priority"))
        _check_conditions(self.admits, where)


def check_partitions(given: object, nodes: int, groups: Collection[str]) -> tuple[Partition, ...]:
    """Check that partitions have unique names and known nodes and groups."""
    partitions = check_unique(given, Partition, "partitions")
    for at, partition in enumerate(partitions):
        for name in partition.groups:
            if name not in groups:
                raise SystemDescriptionError(
                    f"partitions[{at}].groups = {shown(name)}; must be a node group.{suggest(name, groups)}"
                )
        beyond = next((end for _, end in partition.ranges if end > nodes), None)
        if beyond is not None:
            raise SystemDescriptionError(
                f"partitions[{at}].nodes = {shown(partition.nodes)}; must be nodes from 0 to {nodes - 1}."
            )
    return partitions


def check_queues(given: object, partitions: Iterable[Partition]) -> tuple[JobQueue, ...]:
    """Check that queues have unique names and feed known partitions, at least one if there are partitions."""
    queues = check_unique(given, JobQueue, "queues")
    known = [partition.name for partition in partitions]
    for at, queue in enumerate(queues):
        if known and not queue.partitions:
            raise SystemDescriptionError(
                f"queues[{at}].partitions of {queue.name!r} is empty; must name the partitions that the "
                f"queue feeds. Known: {', '.join(known)}."
            )
        for name in queue.partitions:
            if name not in known:
                raise SystemDescriptionError(
                    f"queues[{at}].partitions = {shown(name)}; must be a partition.{suggest(name, known)}"
                )
    return queues


def _check_conditions(given: object, where: str) -> None:
    if not isinstance(given, Conditions):
        raise SystemDescriptionError(f"{where}: admits = {shown(given)}; must be Conditions.")


_priority = Whole(-_LARGEST_PRIORITY, _LARGEST_PRIORITY)
