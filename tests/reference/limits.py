"""Limits: which groups of jobs a job counts in, and whether it is over one of their limits (S13)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from reference.model import Limit
from reference.queues import admits, least_nodes
from reference.reservations import in_time

if TYPE_CHECKING:
    from reference.model import Job, Machine
    from reference.state import Running, State

Group = tuple[object, ...]
OUT_OF_TIME = Limit()
"""Stands for a limit where a job could not end within its reservation."""
FALLEN = Limit()
"""Stands for a limit where a job waits for the one for which it gave up its nodes."""


def groups(job: Job, machine: Machine) -> list[tuple[Limit, Group]]:
    """Give the limits that hold for a job, each with the group in which it counts, in their order."""
    found: list[tuple[Limit, Group]] = []
    if job.exempt_from_limits:
        return found
    for number, limit in enumerate(machine.limits):
        if limit.queues and job.in_queue not in limit.queues:
            continue
        if not admits(limit.applies_to, job, machine):
            continue
        values = {
            "user": job.user,
            "group": job.group,
            "account": job.account,
            "qos": job.qos,
            "queue": job.in_queue,
        }
        key = (number, *(values[name] for name in limit.per if name != "partition"))
        counted = [
            each.name
            for each in machine.partitions
            if each.name in job.in_partitions and each.name in (limit.partitions or job.in_partitions)
        ]
        if "partition" in limit.per and machine.partitions:
            found += [(limit, (*key, name)) for name in counted]
        elif counted or not limit.partitions:
            found.append((limit, key))
    return found


def over_limit(state: State, job: Job) -> Limit | None:
    """Give the first limit that a job which is to start now is over.

    One that could not end within its reservation waits as if for a limit (S14), and so does one that gave up
    its nodes for another that is within its limits and still waits (S16).
    """
    preemptor = state.fallen.get(job.row)
    for other in state.queue:
        if other.row == preemptor and first_over(state, other) is None:
            return FALLEN
    return first_over(state, job)


def first_over(state: State, job: Job) -> Limit | None:
    if not in_time(job, state.machine, state.now):
        return OUT_OF_TIME
    own = groups(job, state.machine)
    counted = [(each, groups_of(each.job, state.machine)) for each in state.running if own and each.holds]
    for limit, group in own:
        others = [each for each, theirs in counted if group in theirs]
        nodes = sum(len(each.placement) for each in others)
        if len(others) >= limit.running_jobs or nodes + least_nodes(job, state.machine) > limit.nodes:
            return limit
        for place, resource in enumerate(state.machine.resources):
            used = sum(held(each, place, state.machine) for each in others)
            asked = job.tasks * job.request[place]
            if resource in limit.amounts and used + asked > limit.amounts[resource]:
                return limit
            if exceeds_minutes(state, job, place, limit, group):
                return limit
    return None


def exceeds_minutes(state: State, job: Job, place: int, limit: Limit, group: Group) -> bool:
    """Tell whether a job would bring its group over what it may use of a resource over time."""
    resource, now = state.machine.resources[place], microseconds(state.now)
    asked = job.tasks * job.request[place] * microseconds(job.limit)
    if resource in limit.running_minutes:
        left = sum(
            held(each, place, state.machine) * max(0, end_of(each) - now)
            for each in state.running
            if each.holds and group in groups_of(each.job, state.machine)
        )
        if left + asked > limit.running_minutes[resource] * 60_000_000:
            return True
    if resource not in limit.total_minutes:
        return False
    # One that has given its nodes back at this instant has used them until now.
    runs = [(each, end_of(each) if each.holds else now) for each in state.running]
    runs += [(each, microseconds(end)) for each, end in state.past]
    total = sum(
        held(each, place, state.machine) * max(0, end - microseconds(each.start))
        for each, end in runs
        if group in groups_of(each.job, state.machine)
    )
    return total + asked > limit.total_minutes[resource] * 60_000_000


def groups_of(job: Job, machine: Machine) -> list[Group]:
    return [group for _, group in groups(job, machine)]


def end_of(running: Running) -> int:
    """Give when a running job reaches its limit."""
    return microseconds(max(running.start + running.job.limit, running.ran_until))


def microseconds(seconds: float) -> int:
    """Give a time in whole microseconds; the greatest number of 64 bits where it is infinite."""
    return min(round(seconds * 1e6), 2**63 - 1) if seconds < inf else 2**63 - 1


def held(running: Running, place: int, machine: Machine) -> int:
    """Give what a running job holds of a resource: all of its nodes where it is exclusive."""
    job = running.job
    if job.exclusive:
        return sum(machine.capacity[node][place] for node, _ in running.placement)
    return sum(tasks for _, tasks in running.placement) * job.request[place]


def refuses_submission(state: State, job: Job, waiting: list[Job]) -> bool:
    """Tell whether as many jobs wait and run as one of the job's limits allows, or it asks for more time."""
    alive = [*waiting, *state.queue, *state.held.values(), *(each.job for each in state.running)]
    for limit, group in groups(job, state.machine):
        count = sum(group in groups_of(each, state.machine) for each in alive)
        if count >= limit.submitted_jobs or job.limit > limit.time:
            return True
    return False
