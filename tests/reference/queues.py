"""Queues and partitions: which of them take a job, and the node sets that follow (S11)."""

from dataclasses import replace
from math import inf

from reference.model import Conditions, Job, Machine
from reference.reservations import unused


def routed(job: Job, machine: Machine) -> Job | str:
    """Give the job with what follows from its queue, partitions and reservation; or why it is rejected."""
    waiting = in_partitions(job, machine)
    return waiting if isinstance(waiting, str) else in_reservation(waiting, machine)


def in_reservation(job: Job, machine: Machine) -> Job | str:
    """Bind a job to the nodes of the reservation that it names."""
    own = next((each for each in machine.reservations if each.name == job.reservation), None)
    if own is None:
        return job
    if own.admits is None or not admits(own.admits, job, machine) or unused(job, own):
        return "reservation"
    sets = job.node_sets or (frozenset(range(len(machine.capacity))),)
    within = job.node_sets if own.flexible else tuple(nodes & own.nodes for nodes in sets)
    return replace(job, node_sets=within, in_reservation=own.name)


def in_partitions(job: Job, machine: Machine) -> Job | str:
    """Give the job with its node sets, its tier and the priority of its queue; or why it is rejected."""
    queue = None
    if machine.queues:
        named = [each for each in machine.queues if job.queue in (None, each.name)]
        queue = next((each for each in named if admits(each.admits, job, machine)), None)
        if queue is None:
            return "queue"
        job = replace(job, queue_priority=queue.priority, in_queue=queue.name)
    if not machine.partitions:
        return job
    known = {each.name: each for each in machine.partitions}
    feeds = tuple(known) if queue is None else queue.partitions
    wanted = job.partitions or (feeds if queue else feeds[:1])
    allowed = [known[name] for name in wanted if name in feeds]
    allowed = [each for each in allowed if admits(each.admits, job, machine)]
    if not allowed:
        return "partition"
    tier = max(each.tier for each in allowed)
    names = tuple(each.name for each in allowed)
    node_sets = tuple(each.nodes for each in allowed)
    whole = job.exclusive or any(each.exclusive for each in allowed)
    return replace(job, node_sets=node_sets, tier=tier, in_partitions=names, exclusive=whole)


def admits(conditions: Conditions, job: Job, machine: Machine) -> bool:
    """Tell whether a job meets all conditions."""
    names = [
        (conditions.users, job.user),
        (conditions.groups, job.group),
        (conditions.accounts, job.account),
        (conditions.qos, job.qos),
    ]
    if not all(known is None or name in known for known, name in names):
        return False
    within = [
        (
            conditions.processors,
            job.tasks * dict(zip(machine.resources, job.request, strict=True)).get("core", 1),
        ),
        (conditions.nodes, least_nodes(job, machine)),
        (conditions.time, job.first_limit),
    ]
    return all(least <= value <= most for (least, most), value in within)


def least_nodes(job: Job, machine: Machine) -> float:
    """Give the least number of nodes that the tasks of a job go on, as the largest empty node has slots."""
    most = max(slots_of_empty(job, capacity) for capacity in machine.capacity)
    return -(-job.tasks // most) if most else inf


def slots_of_empty(job: Job, capacity: tuple[int, ...]) -> int:
    counts = [amount // asked for amount, asked in zip(capacity, job.request, strict=True) if asked > 0]
    return min([*counts, job.tasks_per_node or job.tasks])
