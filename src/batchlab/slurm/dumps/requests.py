"""What jobs ask for: their CPUs, memory and generic resources as equal tasks, each on one node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.workload.resource_names import resource_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.slurm.dumps.state import LiveJob

__all__ = ["TaskRequest", "holding_of", "request_of", "shares_of"]

_KILOBYTES = 1024
_LARGEST = 2**53


@dataclass(frozen=True)
class TaskRequest:
    """A request as equal tasks.

    Attributes
    ----------
    tasks, core
        Number of tasks, and CPUs of each.
    tasks_per_node
        Most tasks on a node; 0 for no bound.
    memory
        kB of each task; None if unknown.
    resources
        Generic resources of each task.
    """

    tasks: int
    core: int
    tasks_per_node: int
    memory: int | None
    resources: Mapping[str, int]


def request_of(job: LiveJob) -> TaskRequest:
    """Convert the request of a job that waits to tasks.

    A job has its own tasks, unless CPUs do not follow from them. It has one task on each node if it asks for
    whole nodes or for generic resources of each node, and as many equal tasks as possible if it asks for
    generic resources in all.
    """
    nodes = job.nodes_least
    is_exact = job.nodes_most == nodes and nodes > 1
    if job.exclusive or job.gres_per_node:
        return _request(job, nodes, -(-job.cpus // nodes), 1)
    tasks = _tasks(job)
    most = job.tasks_per_node or 0
    if is_exact and not most:
        most = -(-tasks // nodes)
    return _request(job, tasks, -(-job.cpus // tasks), most)


def _tasks(job: LiveJob) -> int:
    if job.gres_per_job:
        return max(math.gcd(job.cpus, *job.gres_per_job.values()), 1)
    if job.gres_per_task and job.tasks:
        return job.tasks
    if job.tasks and (job.cpus_per_task is None or job.tasks * job.cpus_per_task == job.cpus):
        return job.tasks if job.cpus % job.tasks == 0 else job.cpus
    return job.cpus


def _request(job: LiveJob, tasks: int, core: int, most: int) -> TaskRequest:
    """Build a request with the shares of memory and generic resources of each task."""
    memory = None
    if job.memory_per_node is not None:
        memory = -(-job.memory_per_node * job.nodes_least // tasks) * _KILOBYTES
    elif job.memory_per_cpu is not None:
        memory = job.memory_per_cpu * core * _KILOBYTES
    resources = {name: -(-total // tasks) for name, total in _totals(job, job.nodes_least, tasks).items()}
    return _bounded(tasks, core, most, memory, resources)


def holding_of(job: LiveJob, shares: Sequence[int]) -> tuple[TaskRequest, tuple[int, ...]]:
    """Convert the CPUs, memory and generic resources that a job holds to tasks.

    Parameters
    ----------
    job
        The job.
    shares
        Its CPUs on each of its nodes.

    Returns
    -------
    tuple
        The tasks, and their numbers on the nodes. There is one on each node if shares are equal; also if the
        job holds generic resources, and its CPUs then count with the smallest share. Else tasks are as large
        as possible. Amounts are rounded down, so that jobs fit where they run.
    """
    nodes = len(shares)
    generic = job.gres_per_node or job.gres_per_task or job.gres_per_job
    if len(set(shares)) == 1 or generic:
        core, on_nodes = min(shares), (1,) * nodes
    else:
        core = math.gcd(*shares)
        on_nodes = tuple(share // core for share in shares)
    tasks = sum(on_nodes)
    memory = None
    if job.memory_per_node is not None:
        memory = job.memory_per_node * _KILOBYTES // max(on_nodes)
    elif job.memory_per_cpu is not None:
        memory = job.memory_per_cpu * core * _KILOBYTES
    resources = {name: total // tasks for name, total in _totals(job, nodes, tasks).items()}
    return _bounded(tasks, core, int(max(on_nodes) == 1), memory, resources), on_nodes


def _totals(job: LiveJob, nodes: int, tasks: int) -> dict[str, int]:
    """Return the generic resources of a job in all."""
    totals: dict[str, int] = {}
    amounts = (job.gres_per_node, nodes), (job.gres_per_task, job.tasks or tasks), (job.gres_per_job, 1)
    for each, times in amounts:
        for name, amount in each.items():
            resource = resource_of(f"gres/{name}")
            totals[resource] = totals.get(resource, 0) + amount * times
    return totals


def _bounded(
    tasks: int, core: int, most: int, memory: int | None, resources: Mapping[str, int]
) -> TaskRequest:
    kilobytes = None if memory is None else min(memory, _LARGEST)
    return TaskRequest(
        tasks, core, most, kilobytes, {name: min(each, _LARGEST) for name, each in resources.items() if each}
    )


def shares_of(jobs: Iterable[LiveJob], room: Mapping[str, int]) -> dict[int, tuple[int, ...]]:
    """Return the CPUs of jobs on each of their nodes, by the number of the job.

    Parameters
    ----------
    jobs
        Jobs that hold nodes.
    room
        The CPUs that jobs hold on each node, or the CPUs that it has.

    Returns
    -------
    dict
        The CPUs in the dump. Jobs without them follow: equal shares, else shares that fit the remaining CPUs
        of each node, else shares as equal as possible.
    """
    left = dict(room)
    found: dict[int, tuple[int, ...]] = {}
    for job in sorted(jobs, key=_is_unknown):
        shares = job.cpus_on_nodes
        if shares is None:
            shares = _fitted(job, [left.get(name, 0) for name in job.nodes])
        for name, cpus in zip(job.nodes, shares, strict=True):
            left[name] = left.get(name, 0) - cpus
        found[job.job_id] = shares
    return found


def _is_unknown(job: LiveJob) -> tuple[bool, bool]:
    """Sort jobs: known shares, then equal shares, then others."""
    is_unknown = job.cpus_on_nodes is None and len(job.nodes) > 1
    return is_unknown, is_unknown and job.cpus % len(job.nodes) > 0


def _fitted(job: LiveJob, left: Sequence[int]) -> tuple[int, ...]:
    """Return shares of at least 1 that fit, as equal as possible."""
    nodes = max(len(job.nodes), 1)
    share, rest = divmod(max(job.cpus, nodes), nodes)
    equal = tuple(share + (at < rest) for at in range(nodes))
    if nodes == 1 or all(cpus <= room for cpus, room in zip(equal, left, strict=True)):
        return equal
    shares = [1] * nodes
    missing = max(job.cpus, nodes) - nodes
    # Nodes with little room are filled first, so that the others share the rest equally.
    for place, at in enumerate(sorted(range(nodes), key=left.__getitem__)):
        more = min(-(-missing // (nodes - place)), max(left[at] - 1, 0))
        shares[at] += more
        missing -= more
    return equal if missing else tuple(shares)
