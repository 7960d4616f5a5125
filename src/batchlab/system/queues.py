"""Partitions and queues, the conditions under which they admit jobs, limits on jobs, and preemption.

`batchlab.workload` applies conditions and limits to jobs.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal, get_args

from batchlab.core import rules
from batchlab.core.form import check_fields, reduced, refusal
from batchlab.core.node_ranges import node_ranges
from batchlab.core.vocabulary import WAITING_REASONS, PreemptionGround, PreemptionMode
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system.accounts import ROOT, Account, QualityOfService
from batchlab.system.fields import (
    AtLeastOne,
    GroupName,
    GroupNames,
    NodeRanges,
    NotNegative,
    Priority,
    ResourcesOver,
    Seconds,
    SomeNames,
)

__all__ = [
    "Conditions",
    "JobQueue",
    "Limit",
    "LimitedBy",
    "Partition",
    "Preemption",
    "check_limits",
    "check_owners",
    "check_partitions",
    "check_preemption",
    "check_queues",
    "conditions_of",
    "waiting_reasons",
]

OWNERS = ("users", "groups", "accounts", "qos")
"""Conditions on a name in a column of the jobs."""

LimitedBy = Literal["user", "group", "account", "qos", "queue", "partition"]
"""Columns by which jobs are counted; each value is counted separately."""

_COUNTS = ("running_jobs", "submitted_jobs", "nodes", "time")
_AMOUNTS = ("resources", "running_minutes", "total_minutes")


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

    min_processors: AtLeastOne | None = None
    max_processors: AtLeastOne | None = None
    min_nodes: AtLeastOne | None = None
    max_nodes: AtLeastOne | None = None
    min_time: Seconds | None = None
    max_time: Seconds | None = None
    users: SomeNames | None = None
    groups: SomeNames | None = None
    accounts: SomeNames | None = None
    qos: SomeNames | None = None

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError, "")
        for name in ("processors", "nodes", "time"):
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if least is not None and most is not None and least > most:
                raise SystemDescriptionError(
                    f"min_{name} = {shown(least)}; must be at most max_{name} = {shown(most)}."
                )

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

    name: GroupName
    nodes: NodeRanges = ""
    groups: GroupNames = ()
    tier: Priority = 1
    admits: Conditions = field(default_factory=Conditions)
    priority_factor: NotNegative = 1.0
    over_time_limit: NotNegative | None = None
    exclusive: bool = False

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)

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

    name: GroupName
    partitions: GroupNames = ()
    priority: Priority = 0
    admits: Conditions = field(default_factory=Conditions)

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)


@dataclass(frozen=True)
class Limit:
    """A limit on the simultaneous jobs or resources of a set of jobs.

    Parameters
    ----------
    name
        Unique name of the limit; the reason why jobs wait for it or are rejected.
    per
        Columns by which jobs are counted; each combination of values separately. [default: all jobs together]
    queues, partitions
        Queues and partitions to whose jobs the limit applies. A job that may run in several partitions counts
        in each of them. [default: all]
    applies_to
        Conditions on jobs to which the limit applies. [default: all jobs]
    running_jobs
        Maximum number of running jobs.
    submitted_jobs
        Maximum number of waiting and running jobs; further jobs are rejected at submission.
    nodes
        Maximum number of nodes held; a node counts once for each job on it.
    resources
        Maximum amounts of resources held, e.g. ``{"core": 512}``.
    time
        Maximum seconds that a job may request; a job that requests more is rejected at submission.
    running_minutes
        Maximum resource-minutes that running jobs may still use, e.g. ``{"core": 100_000}``: the resources
        held times the remainder of their ``time_limit`` (Slurm's ``GrpTRESRunMins``).
    total_minutes
        Maximum resource-minutes in total: the usage of past runs plus the usage of running jobs up to their
        ``time_limit`` (Slurm's ``GrpTRESMins``, safe and without decay).
    blocks
        True if a job that waits for the limit blocks all jobs behind it. [default: others may pass it]

    Raises
    ------
    SystemDescriptionError
        If a value is invalid, or nothing is limited.
    """

    name: GroupName
    per: Annotated[tuple[LimitedBy, ...], rules.List(rules.OneOf(get_args(LimitedBy)), "columns")] = ()
    queues: GroupNames = ()
    partitions: GroupNames = ()
    applies_to: Conditions = field(default_factory=Conditions)
    running_jobs: AtLeastOne | None = None
    submitted_jobs: AtLeastOne | None = None
    nodes: AtLeastOne | None = None
    resources: ResourcesOver = field(default_factory=dict, hash=False)
    blocks: bool = False
    time: Seconds | None = None
    running_minutes: ResourcesOver = field(default_factory=dict, hash=False)
    total_minutes: ResourcesOver = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)
        has_amounts = any(getattr(self, key) for key in _AMOUNTS)
        if not has_amounts and all(getattr(self, key) is None for key in _COUNTS):
            counted = ", ".join((*_COUNTS, *_AMOUNTS))
            raise refusal(self, SystemDescriptionError, f"limits nothing; give one of {counted}.")

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)


@dataclass(frozen=True)
class Preemption:
    """Which jobs may preempt running jobs, and what happens to the victims.

    Parameters
    ----------
    by
        ``"tier"``: jobs of a partition with a higher tier may preempt those of lower tiers; ``"qos"``: jobs
        of a quality of service may preempt those of the names in its field ``preempts``.
    mode
        What happens to victims. ``"requeue"``: they return to the queue and restart; ``"suspend"``: they
        return to the queue and resume; ``"cancel"``: they are killed.
    exempt_time
        Minimum run time of victims, seconds.
    grace_time
        Seconds that a victim keeps running after the decision, unless it ends before. Must be 0 if the mode
        is ``"suspend"``.
    youngest_first
        Order of victims in one tier or quality of service: latest start first if true, otherwise fewest nodes
        first.

    Raises
    ------
    SystemDescriptionError
        If a name is unknown, a number is invalid, or `grace_time` is given with the mode ``"suspend"``.
    """

    by: PreemptionGround = "tier"
    mode: PreemptionMode = "requeue"
    exempt_time: Seconds = 0.0
    grace_time: Seconds = 0.0
    youngest_first: bool = False

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError, "preemption.")
        if self.grace_time and self.mode == "suspend":
            raise SystemDescriptionError(
                f"preemption.grace_time = {shown(self.grace_time)} with mode = 'suspend'; must be 0 there. "
                "Leave it out, or take the mode 'requeue' or 'cancel'."
            )


def check_partitions(partitions: Sequence[Partition], nodes: int, groups: Collection[str]) -> None:
    """Check that partitions have known nodes and groups."""
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


def check_queues(queues: Sequence[JobQueue], partitions: Iterable[Partition]) -> None:
    """Check that queues feed known partitions, at least one if there are partitions."""
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


def waiting_reasons(limits: Iterable[Limit]) -> tuple[str, ...]:
    """Return the reasons why jobs wait on a system with limits, in the order of their numbers."""
    return (*WAITING_REASONS, *(limit.name for limit in limits))


def conditions_of(
    partitions: Sequence[Partition], queues: Sequence[JobQueue], limits: Sequence[Limit]
) -> dict[str, Conditions]:
    """Return all conditions of a system, by their paths."""
    admitting: list[tuple[str, Sequence[Partition | JobQueue]]] = [
        ("partitions", partitions),
        ("queues", queues),
    ]
    found = {
        f"{name}[{at}].admits": each.admits for name, parts in admitting for at, each in enumerate(parts)
    }
    return found | {f"limits[{at}].applies_to": each.applies_to for at, each in enumerate(limits)}


def check_limits(
    limits: Sequence[Limit],
    queues: Sequence[JobQueue],
    partitions: Sequence[Partition],
    resources: Collection[str],
) -> None:
    """Check that limits refer to known parts of the machine."""
    known = {
        "queues": ("queue", [queue.name for queue in queues]),
        "partitions": ("partition", [partition.name for partition in partitions]),
        **dict.fromkeys(_AMOUNTS, ("resource", [*resources])),
    }
    for at, limit in enumerate(limits):
        for key, (kind, there) in known.items():
            for name in getattr(limit, key):
                if name not in there:
                    raise SystemDescriptionError(
                        f"limits[{at}].{key} = {shown(name)}; must be a {kind} of the system."
                        f"{suggest(name, there)}"
                    )


def check_preemption(
    preemption: Preemption | None, partitions: Sequence[Partition], qos: Sequence[QualityOfService]
) -> None:
    """Check that some jobs may preempt others.

    Raises
    ------
    SystemDescriptionError
        If the tiers of all partitions are equal, or no quality of service preempts another.
    """
    if preemption is None:
        return
    if preemption.by == "tier" and len({partition.tier for partition in partitions}) < 2:  # noqa: PLR2004
        raise SystemDescriptionError(
            "preemption.by = 'tier'; must have partitions of different tiers. Give one a higher tier."
        )
    if preemption.by == "qos" and not any(quality.preempts for quality in qos):
        raise SystemDescriptionError(
            "preemption.by = 'qos'; must have a quality of service that preempts another. "
            "Give one a list of names as preempts."
        )


def check_owners(
    conditions: Mapping[str, Conditions], accounts: Sequence[Account], qualities: Sequence[QualityOfService]
) -> None:
    """Check that conditions name known accounts and qualities of service, if the system has any.

    Parameters
    ----------
    conditions
        Conditions, by their paths in the system.
    accounts, qualities
        The accounts and qualities of service of the system.

    Raises
    ------
    SystemDescriptionError
        If a name is unknown.
    """
    known = {
        "accounts": [*(account.name for account in accounts), ROOT] if accounts else [],
        "qos": [quality.name for quality in qualities],
    }
    for path, each in conditions.items():
        for key, names in known.items():
            for name in getattr(each, key) or ():
                if names and name not in names:
                    rule = "an account" if key == "accounts" else "a quality of service"
                    raise SystemDescriptionError(
                        f"{path}.{key} = {shown(name)}; must be {rule} of the system.{suggest(name, names)}"
                    )
