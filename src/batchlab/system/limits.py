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
    from collections.abc import Collection, Iterable, Mapping

    from batchlab.system.queues import JobQueue, Partition

__all__ = ["Limit", "LimitedBy", "check_limits", "waiting_reasons"]

LimitedBy = Literal["user", "group", "account", "qos", "queue", "partition"]
"""What jobs are counted by: each value of it for itself."""

_COUNTS = ("running_jobs", "submitted_jobs", "nodes")


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
        resources = amounts(self.resources, f"{where}: resources", rules.at_least_one)
        set_field(self, "resources", MappingProxyType(resources))
        if not self.resources and all(getattr(self, key) is None for key in _COUNTS):
            raise SystemDescriptionError(
                f"{where} limits nothing; give running_jobs, submitted_jobs, nodes or resources."
            )
        held(rules.truth, self.blocks, f"{where}: blocks")
        if not isinstance(self.applies_to, Conditions):
            raise SystemDescriptionError(
                f"{where}: applies_to = {shown(self.applies_to)}; must be Conditions."
            )

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        of_jobs = (self.per, self.queues, self.partitions, self.applies_to)
        counts = (self.running_jobs, self.submitted_jobs, self.nodes)
        return Limit, (self.name, *of_jobs, *counts, dict(self.resources), self.blocks)


def waiting_reasons(limits: Iterable[Limit]) -> tuple[str, ...]:
    """Give the reasons for which jobs wait on a system with limits, in the order of their numbers."""
    return (*WAITING_REASONS, *(limit.name for limit in limits))


def check_limits(
    given: object,
    queues: tuple[JobQueue, ...],
    partitions: tuple[Partition, ...],
    resources: Collection[str],
) -> tuple[Limit, ...]:
    """Check limits against the machine: their names differ, what they name is there."""
    limits = different(given, Limit, "limits")
    known = {
        "queues": [queue.name for queue in queues],
        "partitions": [partition.name for partition in partitions],
        "resources": [*resources],
    }
    for at, limit in enumerate(limits):
        for key, there in known.items():
            for name in getattr(limit, key):
                if name not in there:
                    kind = key.removesuffix("s")
                    raise SystemDescriptionError(
                        f"limits[{at}].{key} = {shown(name)}; must be a {kind} of the system."
                        f"{suggest(name, there)}"
                    )
    return limits
