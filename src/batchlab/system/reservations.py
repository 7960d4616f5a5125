"""Reservations: nodes kept for maintenance, or for certain jobs, for a time (semantics, S14)."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from batchlab.core import rules
from batchlab.core.form import check_fields, refusal
from batchlab.core.node_ranges import node_ranges
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system.fields import LARGEST_AMOUNT, AtLeastOne, GroupName, GroupNames, NodeRanges, Seconds
from batchlab.system.queues import Conditions, Partition

__all__ = ["Reservation", "check_reservations"]

_MOST_OCCURRENCES = 100_000
_SOME_TIME = rules.Number(above=0, most=LARGEST_AMOUNT, unit="seconds", floating=True, hint='or "inf"')


def _duration(value: object) -> float:
    """Check a duration above 0, which may be infinite."""
    if value == "inf" or (isinstance(value, float) and value == math.inf):
        return math.inf
    return _SOME_TIME(value)


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

    name: GroupName
    start: Seconds
    duration: Annotated[float, _duration]
    nodes: NodeRanges = ""
    groups: GroupNames = ()
    partitions: GroupNames = ()
    count: AtLeastOne | None = None
    every: Seconds | None = None
    until: Seconds | None = None
    admits: Conditions | None = None
    flexible: bool = False
    cancels: bool = False

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)
        broken = self._broken_repetition()
        if self.flexible and self.admits is None:
            broken = "flexible = True, but no job uses it; give admits, or leave flexible out."
        if broken:
            raise refusal(self, SystemDescriptionError, broken)

    def _broken_repetition(self) -> str:
        """Return the rule of repeated reservations that is broken; empty if none is."""
        if (self.every is None) != (self.until is None):
            given, missing = ("every", "until") if self.until is None else ("until", "every")
            return f"{given} is given without {missing}; give both, or neither for one held once."
        if self.every is None or self.until is None:
            return ""
        if self.every < self.duration:
            return f"every = {shown(self.every)}; must be at least duration = {shown(self.duration)}."
        if self.until <= self.start:
            return f"until = {shown(self.until)}; must be later than start = {shown(self.start)}."
        if (self.until - self.start) / self.every > _MOST_OCCURRENCES:
            return f"until = {shown(self.until)}; must let it begin at most {_MOST_OCCURRENCES:,} times."
        return ""

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
    reservations: Sequence[Reservation], nodes: int, groups: Collection[str], partitions: Sequence[Partition]
) -> None:
    """Check that reservations refer to known parts of the machine."""
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
