"""Reservations: nodes kept for maintenance, or for certain jobs, for a time (semantics, S14)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.core.node_ranges import node_ranges
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.checks import check_unique, checked, names_if_any, set_field
from batchlab.system.queues import Conditions

if TYPE_CHECKING:
    from collections.abc import Collection

    from batchlab.system.queues import Partition

__all__ = ["Reservation", "check_reservations"]

_MOST_OCCURRENCES = 100_000


@dataclass(frozen=True)
class Reservation:
    """Nodes that are reserved for a time, once or periodically.

    Parameters
    ----------
    name
        Unique among the reservations; jobs name it in the column ``reservation``.
    start
        Begin, seconds since the workload's origin.
    duration
        Duration, seconds; ``math.inf`` (in files also ``"inf"``) for no end.
    nodes
        The nodes, as ranges of their numbers: ``"0-11,16"``. [default: all nodes, unless `groups` or
        `partitions` is given]
    groups, partitions
        Node groups and partitions whose nodes belong to the reservation too.
    count
        Number of these nodes to reserve, those with the largest numbers. [default: all]
    every
        Period of a repeated reservation, seconds, at least `duration`: 86400 daily, 604800 weekly. [default:
        no repetition]
    until
        Time after which no repetition begins, seconds since the origin; required with `every`.
    admits
        Conditions on the jobs that name it: `Conditions`, all jobs if they are empty. None for maintenance:
        no job.
    flexible
        True if its jobs may use other nodes too.
    cancels
        True to kill jobs that still run on its nodes at its begin, beyond their ``time_limit``, except its
        own. Otherwise they keep running, and the jobs of the reservation wait.

    Raises
    ------
    SystemDescriptionError
        If a value is invalid.

    Notes
    -----
    Other jobs start on its nodes only if their time_limit ends before it begins.
    """

    name: str
    start: float
    duration: float
    nodes: str = ""
    groups: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    count: int | None = None
    every: float | None = None
    until: float | None = None
    admits: Conditions | None = None
    flexible: bool = False
    cancels: bool = False

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "Reservation: name"))
        where = f"Reservation {self.name!r}"
        checked(node_ranges, self.nodes, f"{where}: nodes")
        for key in ("groups", "partitions"):
            set_field(self, key, names_if_any(getattr(self, key), f"{where}: {key}"))
        if self.count is not None:
            set_field(self, "count", checked(rules.at_least_one, self.count, f"{where}: count"))
        set_field(self, "start", checked(rules.seconds, self.start, f"{where}: start"))
        set_field(self, "duration", checked(_duration, self.duration, f"{where}: duration"))
        self._check_repetition(where)
        if not isinstance(self.admits, Conditions | None):
            raise SystemDescriptionError(
                f"{where}: admits = {shown(self.admits)}; must be Conditions, or None for maintenance."
            )
        set_field(self, "flexible", checked(rules.truth, self.flexible, f"{where}: flexible"))
        set_field(self, "cancels", checked(rules.truth, self.cancels, f"{where}: cancels"))
        if self.flexible and self.admits is None:
            raise SystemDescriptionError(
                f"{where}: flexible = True, but no job uses it; give admits, or leave flexible out."
            )

    def _check_repetition(self, where: str) -> None:
        if (self.every is None) != (self.until is None):
            given, missing = ("every", "until") if self.until is None else ("until", "every")
            raise SystemDescriptionError(
                f"{where}: {given} is given without {missing}; give both, or neither for one held once."
            )
        if self.every is None or self.until is None:
            return
        every = checked(rules.seconds, self.every, f"{where}: every")
        until = checked(rules.seconds, self.until, f"{where}: until")
        set_field(self, "every", every)
        set_field(self, "until", until)
        if every < self.duration:
            raise SystemDescriptionError(
                f"{where}: every = {shown(every)}; must be at least duration = {shown(self.duration)}."
            )
        if until <= self.start:
            raise SystemDescriptionError(
                f"{where}: until = {shown(until)}; must be later than start = {shown(self.start)}."
            )
        if (until - self.start) / every > _MOST_OCCURRENCES:
            raise SystemDescriptionError(
                f"{where}: until = {shown(until)}; must let it begin at most {_MOST_OCCURRENCES:,} times."
            )

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The ranges in `nodes`: first node, and the node after the last."""
        return node_ranges(self.nodes)

    @property
    def occurrences(self) -> list[tuple[float, float]]:
        """The time spans of the reservation, in order: begin and end in seconds."""
        begins = [self.start]
        if self.every is not None and self.until is not None:
            while (begin := self.start + len(begins) * self.every) < self.until:
                begins.append(begin)
        return [(begin, begin + self.duration) for begin in begins]


def check_reservations(
    given: object, nodes: int, groups: Collection[str], partitions: tuple[Partition, ...]
) -> tuple[Reservation, ...]:
    """Check that reservations have unique names and refer to known parts of the machine."""
    reservations = check_unique(given, Reservation, "reservations")
    known = {"groups": [*groups], "partitions": [partition.name for partition in partitions]}
    for at, each in enumerate(reservations):
        for key, there in known.items():
            for name in getattr(each, key):
                if name not in there:
                    kind = "node group" if key == "groups" else "partition"
                    raise SystemDescriptionError(
                        f"reservations[{at}].{key} = {shown(name)}; must be a {kind} of the system."
                        f"{suggest(name, there)}"
                    )
        if any(end > nodes for _, end in each.ranges):
            raise SystemDescriptionError(
                f"reservations[{at}].nodes = {shown(each.nodes)}; must be nodes from 0 to {nodes - 1}."
            )
    return reservations


def _duration(value: object) -> float:
    """Check a duration above 0, which may be infinite."""
    if value == "inf" or (isinstance(value, float) and value == math.inf):
        return math.inf
    seconds = rules.seconds(value)
    if seconds <= 0:
        raise ValueError('must be a number of seconds above 0, or "inf"')
    return seconds
