"""Limits: how much the jobs of a user, an account, a queue or another group of jobs may have at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.queues import Conditions, different, held, names
from batchlab.vocabulary import WAITING_REASONS

if TYPE_CHECKING:
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
        _set(self, "name", held(rules.group_name, self.name, "Limit: name"))
        where = f"Limit {self.name!r}"
        for key in ("per", "queues", "partitions"):
            _set(self, key, names(getattr(self, key), f"{where}: {key}") if getattr(self, key) else ())
        for column in self.per:
            if column not in get_args(LimitedBy):
                known = get_args(LimitedBy)
                raise SystemDescriptionError(
                    f"{where}: per = {shown(column)}; must be a column of owners.{suggest(column, known)}"
                )
        for key in _COUNTS:
            if getattr(self, key) is not None:
                _set(self, key, held(rules.at_least_one, getattr(self, key), f"{where}: {key}"))
        _set(self, "resources", MappingProxyType(_amounts(self.resources, f"{where}: resources")))
        if not self.resources and all(getattr(self, key) is None for key in _COUNTS):
            raise SystemDescriptionError(
                f"{where} limits nothing; give running_jobs, submitted_jobs, nodes or resources."
            )
        if not isinstance(self.blocks, bool):
            raise SystemDescriptionError(f"{where}: blocks = {shown(self.blocks)}; must be true or false.")
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


def _amounts(given: object, where: str) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise SystemDescriptionError(
            f"{where} = {shown(given)}; must be a mapping of resource names to integers."
        )
    return {
        held(rules.resource_name, name, f"{where}: name"): held(rules.at_least_one, number, f"{where}.{name}")
        for name, number in given.items()
    }


def _set(instance: object, name: str, value: object) -> None:
    object.__setattr__(instance, name, value)
