"""Parse the partition lines of a ``slurm.conf``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from batchlab.errors import one_line
from batchlab.slurm.configuration.values import KINDS, Place, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.slurm.configuration.settings import Settings

__all__ = ["PartitionLine", "partition_line"]

_STATES = ("UP", "DOWN", "DRAIN", "INACTIVE")
_SHARING = ("NO", "EXCLUSIVE", "YES", "FORCE")
_EXCLUSIVE = {"NO": "no", "NONE": "no", "NODE": "node", "USER": "user", "TOPO": "topology"}


@dataclass(frozen=True)
class PartitionLine:
    """A partition.

    Attributes
    ----------
    name, place
        Its name, and the position of its line.
    nodes
        Its nodes as written; ``SlurmConfiguration.nodes_of`` returns the names.
    default
        Whether it is the partition of jobs that name none.
    tier, job_factor
        PriorityTier and PriorityJobFactor.
    max_time, default_time
        Minutes; None without a bound, or if not set.
    min_nodes, max_nodes
        None without a bound.
    allow_accounts, allow_groups, allow_qos
        Names; None if all are allowed.
    deny_accounts, deny_qos
        Names.
    qos
        The QOS with the limits of the partition; empty without one.
    billing_weights
        By resource, as ``{"cpu": 1.0, "mem": 0.25}``, memory per MiB; None if not set.
    state
        ``UP``, ``DOWN``, ``DRAIN`` or ``INACTIVE``.
    exclusive
        ``no``, or the exclusive unit of an allocation: ``node``, ``user`` (nodes of one user), ``topology``.
    sharing, jobs_per_resource
        ``NO``, ``YES`` or ``FORCE``, and the maximum number of jobs that share a resource.
    grace_time
        Seconds that preempted jobs continue to run.
    preempt_mode
        In lower case; empty to use the setting of the cluster.
    over_time_limit
        Minutes; None to use the setting of the cluster, infinite without a bound.
    memory
        DefMemPerCPU and others, if set, MiB.
    max_cpus_per_node, max_cpus_per_socket
        None without a bound.
    least_loaded
        Whether the least loaded nodes are allocated first.
    requires_reservation
        Whether jobs must name a reservation.
    selection
        SelectTypeParameters in lower case, if they differ from those of the cluster.
    """

    name: str
    place: Place
    nodes: str = ""
    default: bool = False
    tier: int = 1
    job_factor: int = 1
    max_time: int | None = None
    default_time: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    allow_accounts: tuple[str, ...] | None = None
    allow_groups: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None
    deny_accounts: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    qos: str = ""
    billing_weights: Mapping[str, float] | None = field(default=None, hash=False)
    state: str = "UP"
    exclusive: str = "no"
    sharing: str = "NO"
    jobs_per_resource: int = 1
    grace_time: int = 0
    preempt_mode: tuple[str, ...] = ()
    over_time_limit: float | None = None
    memory: Mapping[str, int] = field(default_factory=dict, hash=False)
    max_cpus_per_node: int | None = None
    max_cpus_per_socket: int | None = None
    least_loaded: bool = False
    requires_reservation: bool = False
    selection: tuple[str, ...] = ()


def partition_line(settings: Settings) -> PartitionLine:
    """Parse a partition line; missing keys have the values of the DEFAULT line.

    Raises
    ------
    SystemDescriptionError
        If a value is invalid.
    """
    named = settings.find("PartitionName")
    if named is None or not named.value.strip():
        refuse(
            settings.given[0].place, "PartitionName is empty; must be a name. Take the line out, or name it."
        )
    both = settings.whole("Priority")
    sharing, several = _sharing(settings)
    memory = {key: settings.whole(key) for key in _MEMORY}
    return PartitionLine(
        name=named.value,
        place=named.place,
        nodes=",".join((settings.text("Nodes") or "").split()),
        default=settings.true("Default"),
        tier=_small(settings, both, "PriorityTier"),
        job_factor=_small(settings, both, "PriorityJobFactor"),
        max_time=_limit(settings, "MaxTime"),
        default_time=_limit(settings, "DefaultTime"),
        min_nodes=settings.whole("MinNodes") or None,
        max_nodes=settings.whole("MaxNodes"),
        allow_accounts=_all_or(settings, "AllowAccounts", lower=True),
        allow_groups=_all_or(settings, "AllowGroups"),
        allow_qos=_all_or(settings, "AllowQos", lower=True),
        deny_accounts=tuple(name.lower() for name in settings.names("DenyAccounts")),
        deny_qos=tuple(name.lower() for name in settings.names("DenyQos")),
        qos=(settings.text("QOS") or "").lower(),
        billing_weights=cast(
            "Mapping[str, float] | None", settings.value(KINDS["weights"], "TRESBillingWeights")
        ),
        state=_one_of(settings, "State", _STATES),
        exclusive=_exclusive(settings, sharing),
        sharing="NO" if sharing == "EXCLUSIVE" else sharing,
        jobs_per_resource=several,
        grace_time=settings.whole("GraceTime") or 0,
        preempt_mode=tuple(settings.options("PreemptMode")),
        over_time_limit=cast("float | None", settings.value(KINDS["minutes"], "OverTimeLimit")),
        memory={key: value for key, value in memory.items() if value is not None},
        max_cpus_per_node=settings.whole("MaxCPUsPerNode"),
        max_cpus_per_socket=settings.whole("MaxCPUsPerSocket"),
        least_loaded=settings.true("LLN"),
        requires_reservation=settings.true("ReqResv"),
        selection=tuple(settings.options("SelectTypeParameters")),
    )


_MEMORY = ("DefCPUPerGPU", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode", "MaxMemPerCPU", "MaxMemPerNode")
_LARGEST_PRIORITY = 65_533


def _small(settings: Settings, both: int | None, name: str) -> int:
    """Return a tier or a factor; Priority sets both of them."""
    given = settings.whole(name) if both is None else both
    if given is None or given > _LARGEST_PRIORITY:
        found = settings.find("Priority") or settings.find(name) or settings.given[0]
        refuse(
            found.place, f"{found.written} = {one_line(found.value)}; must be from 0 to {_LARGEST_PRIORITY}."
        )
    return given


def _limit(settings: Settings, name: str) -> int | None:
    given = cast("float | None", settings.value(KINDS["minutes"], name))
    return None if given is None or math.isinf(given) else int(given)


def _all_or(settings: Settings, name: str, *, lower: bool = False) -> tuple[str, ...] | None:
    given = settings.names(name)
    if not given or [each.lower() for each in given] == ["all"]:
        return None
    return tuple(each.lower() for each in given) if lower else given


def _one_of(settings: Settings, name: str, known: tuple[str, ...]) -> str:
    text = settings.text(name) or known[0]
    if text.upper() not in known:
        found = settings.find(name) or settings.given[0]
        refuse(found.place, f"{found.written} = {one_line(text)}; must be one of {', '.join(known)}.")
    return text.upper()


def _sharing(settings: Settings) -> tuple[str, int]:
    """Return OverSubscribe, and the maximum number of jobs per resource."""
    found = settings.find("OverSubscribe", "Shared")
    if found is None:
        return "NO", 1
    word, _, number = found.value.upper().partition(":")
    if word not in _SHARING or (number and (not number.isdecimal() or len(number) > len("65533"))):
        rule = "must be NO, YES, YES:n, FORCE, FORCE:n or EXCLUSIVE"
        refuse(found.place, f"{found.written} = {one_line(found.value)}; {rule}.")
    several = {"YES": 4, "FORCE": 4}.get(word, 1)
    return word, int(number) if number else several


def _exclusive(settings: Settings, sharing: str) -> str:
    found = settings.find("Exclusive")
    if found is not None:
        if found.value.upper() not in _EXCLUSIVE:
            rule = f"must be one of {', '.join(_EXCLUSIVE)}"
            refuse(found.place, f"{found.written} = {one_line(found.value)}; {rule}.")
        return _EXCLUSIVE[found.value.upper()]
    if settings.true("ExclusiveTopo"):
        return "topology"
    if settings.true("ExclusiveUser"):
        return "user"
    return "node" if sharing == "EXCLUSIVE" else "no"
