"""Which partitions share nodes, and which of them a pass has closed (S11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from reference.room import room_beside

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from reference.model import Job, Machine, Partition
    from reference.state import State


@lru_cache(maxsize=64)
def connected(partitions: tuple[Partition, ...]) -> list[frozenset[int]]:
    """List the nodes of each set of connected partitions: those share nodes, directly or through others."""
    sets: list[frozenset[int]] = []
    for partition in partitions:
        touching = [each for each in sets if each & partition.nodes]
        sets = [each for each in sets if each not in touching]
        sets.append(partition.nodes.union(*touching))
    return sets


def places_in(machine: Machine) -> set[int]:
    """List the numbers of the sets of connected partitions; a machine without partitions is one."""
    return {*range(max(1, len(connected(machine.partitions))))}


def place_of(machine: Machine, nodes: Iterable[int]) -> int | None:
    """Find the set of connected partitions with these nodes; None for no nodes, if there are several."""
    sets = connected(machine.partitions)
    if len(sets) <= 1:
        return 0
    some = next(iter(nodes), None)
    return next((place for place, each in enumerate(sets) if some in each), None)


def places_of(machine: Machine, job: Job) -> set[int]:
    """Find the sets of connected partitions in which a job may run."""
    found = {place_of(machine, nodes) for nodes in job.node_sets or ((),)}
    return {place for place in found if place is not None}


def within(machine: Machine, job: Job, places: Container[int]) -> Job | None:
    """Bind a job to its nodes in some sets of connected partitions; None if it has no nodes there."""
    if not job.node_sets:
        return job if 0 in places else None
    kept = tuple(nodes for nodes in job.node_sets if place_of(machine, nodes) in places)
    return replace(job, node_sets=kept) if kept else None


@dataclass
class Closed:
    """What the jobs of a pass that hold up others have closed: partitions, and their nodes for all others."""

    state: State
    names: set[str] = field(default_factory=set)
    nodes: frozenset[int] = frozenset()
    whole: bool = False

    def open_to(self, job: Job) -> Job | None:
        """Bind a job to its partitions that are open, and to nodes of none that is closed; None: all are."""
        if not self.state.machine.partitions:
            return None if self.whole else job
        kept = tuple(
            nodes - self.nodes
            for name, nodes in zip(job.in_partitions, job.node_sets, strict=True)
            if name not in self.names
        )
        return replace(job, node_sets=kept) if kept else None

    def close(self, job: Job) -> None:
        """Close the partitions of a job: of several those in which it would fit if they were empty."""
        names = job.in_partitions
        if len(names) > 1:
            empty = room_beside(replace(self.state.machine, closed=frozenset(), withheld={}), [])
            tried = zip(names, job.in_each_set, strict=True)
            names = tuple(name for name, each in tried if self.state.allocator.place(each, empty) is not None)
        self.close_all(names)

    def close_connected(self, job: Job) -> None:
        """Close the partitions of a job, and all that are connected with them."""
        machine = self.state.machine
        sets = connected(machine.partitions)
        own = [sets[place] for place in places_of(machine, job) if sets]
        self.close_all(
            [each.name for each in machine.partitions if any(each.nodes <= nodes for nodes in own)]
        )

    def close_all(self, names: Iterable[str]) -> None:
        """Close partitions, and all partitions that have no other nodes."""
        partitions = self.state.machine.partitions
        self.whole = self.whole or not partitions
        self.names |= {*names}
        self.nodes = self.nodes.union(*(each.nodes for each in partitions if each.name in self.names))
        self.names |= {each.name for each in partitions if self.names and each.nodes <= self.nodes}
