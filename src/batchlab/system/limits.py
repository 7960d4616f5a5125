"""Limits on the jobs of a user, an account, a queue or another set of jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from batchlab.core.vocabulary import WAITING_REASONS
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.checks import amounts, check_unique, checked, names_if_any, set_field
from batchlab.system.queues import Conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from batchlab.system.queues import JobQueue, Partition

__all__ = ["Limit", "LimitedBy", "check_limits", "conditions_of", "waiting_reasons"]

LimitedBy = Literal["user", "group", "account", "qos", "queue", "partition"]
"""Columns by which jobs are counted; each value is counted separately."""

_COUNTS = ("running_jobs", "submitted_jobs", "nodes")
_AMOUNTS = ("resources", "running_minutes", "total_minutes")


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

    name: str
    per: tuple[LimitedBy, ...] = ()
    queues: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    applies_to: Conditions = field(default_factory=Conditions)
    running_jobs: int | None = None
    submitted_jobs: int | None = None
    nodes: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict, hash=False)
    blocks: bool = False
    time: float | None = None
    running_minutes: Mapping[str, int] = field(default_factory=dict, hash=False)
    total_minutes: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "Limit: name"))
        where = f"Limit {self.name!r}"
        for key in ("per", "queues", "partitions"):
            set_field(self, key, names_if_any(getattr(self, key), f"{where}: {key}"))
        for column in self.per:
            if column not in get_args(LimitedBy):
                known = get_args(LimitedBy)
                raise SystemDescriptionError(
                    f"{where}: per = {shown(column)}; must be a column of owners.{suggest(column, known)}"
                )
        for key in _COUNTS:
            if getattr(self, key) is not None:
                set_field(self, key, checked(rules.at_least_one, getattr(self, key), f"{where}: {key}"))
        if self.time is not None:
            set_field(self, "time", checked(rules.seconds, self.time, f"{where}: time"))
        for key in _AMOUNTS:
            given = amounts(getattr(self, key), f"{where}: {key}", rules.at_least_one)
            set_field(self, key, MappingProxyType(given))
        has_amounts = any(getattr(self, key) for key in _AMOUNTS)
        if not has_amounts and all(getattr(self, key) is None for key in (*_COUNTS, "time")):
            counted = ", ".join((*_COUNTS, "time", *_AMOUNTS))
            raise SystemDescriptionError(f"{where} limits nothing; give one of {counted}.")
        set_field(self, "blocks", checked(rules.truth, self.blocks, f"{where}: blocks"))
        if not isinstance(self.applies_to, Conditions):
            raise SystemDescriptionError(
                f"{where}: applies_to = {shown(self.applies_to)}; must be Conditions."
            )

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        of_jobs = (self.per, self.queues, self.partitions, self.applies_to)
        counts = (self.running_jobs, self.submitted_jobs, self.nodes)
        over_time = (self.time, dict(self.running_minutes), dict(self.total_minutes))
        return Limit, (self.name, *of_jobs, *counts, dict(self.resources), self.blocks, *over_time)


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
    given: object,
    queues: tuple[JobQueue, ...],
    partitions: tuple[Partition, ...],
    resources: Collection[str],
) -> tuple[Limit, ...]:
    """Check that limits have unique names and refer to known parts of the machine."""
    limits = check_unique(given, Limit, "limits")
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
    return limits
