"""What is free on the nodes, and how many tasks of a job it admits (S3)."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

from reference.model import Job, Machine, Placement


class Node(NamedTuple):
    """What is free of a node's capacity; `jobs` are there; `closed`: it takes no job, or one is exclusive."""

    capacity: tuple[int, ...]
    free: tuple[int, ...]
    jobs: int
    closed: bool
    group: int
    number: int


Room = list[Node]


def room_beside(machine: Machine, holdings: Iterable[tuple[Job, Placement]]) -> Room:
    """Take what the given jobs hold from the empty machine; where a plan promises too much, 0 is free."""
    counts = machine.groups or (len(machine.capacity),)
    groups = [group for group, count in enumerate(counts) for _ in range(count)]
    room = [
        Node(capacity, capacity, 0, closed=False, group=group, number=number)
        for number, (capacity, group) in enumerate(zip(machine.capacity, groups, strict=True))
    ]
    there: dict[int, list[tuple[Job, int]]] = {}
    for job, placement in holdings:
        for number, tasks in placement:
            there.setdefault(number, []).append((job, tasks))
    for number, jobs in there.items():
        room[number] = without(room[number], jobs)
    if not machine.closed and not machine.withheld:
        return room
    return [offered(machine, index, node) for index, node in enumerate(room)]


def without(node: Node, jobs: list[tuple[Job, int]]) -> Node:
    """Take what jobs hold, each by so many tasks, from an empty node."""
    free: Iterable[int] = node.free
    for job, tasks in jobs:
        taken = node.capacity if job.exclusive else [tasks * asked for asked in job.request]
        free = [before - less for before, less in zip(free, taken, strict=True)]
    closed = any(job.exclusive for job, _ in jobs)
    return node._replace(free=tuple([max(0, amount) for amount in free]), jobs=len(jobs), closed=closed)


def offered(machine: Machine, index: int, node: Node) -> Node:
    """Take what a node does not offer from what is free: all where it is closed, else what it withholds."""
    if index not in machine.closed and index not in machine.withheld:
        return node
    withheld = machine.capacity[index] if index in machine.closed else machine.withheld.get(index, ())
    free = tuple(max(0, free - less) for free, less in zip_longest(node.free, withheld, fillvalue=0))
    return node._replace(free=free, closed=node.closed or index in machine.closed)


def least(rooms: list[Room]) -> Room:
    """Give the minimum of what is free, node by node and resource by resource."""
    if len(rooms) == 1:
        return rooms[0]
    minima = []
    for nodes in zip(*rooms, strict=True):
        free = tuple(min(amounts) for amounts in zip(*(node.free for node in nodes), strict=True))
        jobs = max(node.jobs for node in nodes)
        closed = any(node.closed for node in nodes)
        minima.append(nodes[0]._replace(free=free, jobs=jobs, closed=closed))
    return minima


def slots(job: Job, node: Node) -> int:
    """Give the number of tasks of the job that the node admits."""
    if node.closed or (job.exclusive and node.jobs > 0):
        return 0
    if not may_use(job, node):
        return 0
    counts = [free // asked for free, asked in zip(node.free, job.request, strict=True) if asked > 0]
    if job.tasks_per_node > 0:
        counts.append(job.tasks_per_node)
    return min(counts, default=job.tasks)


def may_use(job: Job, node: Node) -> bool:
    """Tell whether the node is in the job's groups, and in one of its node sets."""
    in_group = not job.node_groups or node.group in job.node_groups
    return in_group and (not job.node_sets or any(node.number in nodes for nodes in job.node_sets))


def load(node: Node) -> float:
    total = 0.0
    for capacity, free in zip(node.capacity, node.free, strict=True):
        if capacity > 0:
            total += (capacity - free) / capacity
    return total
