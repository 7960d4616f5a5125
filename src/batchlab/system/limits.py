"""Limits: how much the jobs of a user, an account, a queue or another group of jobs may have at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.checks import amounts, different, held, names_if_any, set_field
from batchlab.system.queues import Conditions
from batchlab.vocabulary import WAITING_REASONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from batchlab.system.queues import JobQueue, Partition

__all__ = ["Limit", "LimitedBy", "check_limits", "conditions_of", "waiting_reasons"]

LimitedBy = Literal["user", "group", "account", "qos", "queue", "partition"]
"""What jobs are counted by: each value of it for itself."""

_COUNTS = ("running_jobs", "submitted_jobs", "nodes")
_AMOUNTS = ("resources", "running_minutes", "total_minutes")


@dataclass(frozen=True)
class Limit:
    """How much some jobs may have at a time.

    Parameters
    ----------
    name
        Unique among the limits; the reason for which jobs wait or are rejected.
    per
        What jobs are counted by: each value, or combination of values, for itself. All together unless given.
    queues, partitions
        The queues and partitions whose jobs it holds for; all unless given. A job that may run in several
        partitions counts in each of them.
    applies_to
        The jobs that it holds for; all unless given.
    running_jobs
        How many of them may run.
    submitted_jobs
        How many may wait or run: a further one is rejected when it is submitted.
    nodes
        How many nodes they may hold; a node counts once for each job there.
    resources
        How much of resources they may hold, e.g. ``{"core": 512}``.
    time
        For how many seconds each may ask: one that asks for more is rejected when it is submitted.
    running_minutes
        How much of resources, in minutes, those that run may still use, e.g. ``{"core": 100_000}``: what they
        hold times what is left of their ``time_limit`` (Slurm's ``GrpTRESRunMins``).
    total_minutes
        How much of resources, in minutes, they may use in all: what past runs have used, and what those that
        run use if they keep to their ``time_limit`` (Slurm's ``GrpTRESMins``, safe and without decay).
    blocks
        Whether a job that waits for the limit holds up all behind it; others pass it unless given.

    Raises
    ------
    SystemDescriptionError
        If a value breaks its rule, or nothing is limited.
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
        set_field(self, "name", held(rules.group_name, self.name, "Limit: name"))
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
                set_field(self, key, held(rules.at_least_one, getattr(self, key), f"{where}: {key}"))
        if self.time is not None:
            set_field(self, "time", held(rules.seconds, self.time, f"{where}: time"))
        for key in _AMOUNTS:
            given = amounts(getattr(self, key), f"{where}: {key}", rules.at_least_one)
            set_field(self, key, MappingProxyType(given))
        has_amounts = any(getattr(self, key) for key in _AMOUNTS)
        if not has_amounts and all(getattr(self, key) is None for key in (*_COUNTS, "time")):
            counted = ", ".join((*_COUNTS, "time", *_AMOUNTS))
            raise SystemDescriptionError(f"{where} limits nothing; give one of {counted}.")
        held(rules.truth, self.blocks, f"{where}: blocks")
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
    """Give the reasons for which jobs wait on a system with limits, in the order of their numbers."""
    return (*WAITING_REASONS, *(limit.name for limit in limits))


def conditions_of(
    partitions: Sequence[Partition], queues: Sequence[JobQueue], limits: Sequence[Limit]
) -> dict[str, Conditions]:
    """Give all conditions of a system, by the paths to them."""
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
    """Check limits against the machine: their names differ, what they name is there."""
    limits = different(given, Limit, "limits")
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
