"""Machines that give cores by multiples (S3)."""

from dataclasses import replace
from math import ceil, gcd

from reference.model import Job, Machine


def in_whole_cores(job: Job, machine: Machine) -> Job:
    """Give the job as it asks for multiples of cores; one that does so already stays as it is."""
    multiple = machine.core_multiple
    # The first resource is what a processor of the log is.
    if multiple == 1 or machine.resources[0] != "core":
        return job
    asked = dict(zip(machine.resources, job.request, strict=True))
    cores = asked["core"]
    if cores % multiple == 0:
        return job
    together = min(multiple // gcd(cores, multiple), job.tasks, job.tasks_per_node or job.tasks)
    tasks = ceil(job.tasks / together)
    asked["core"] = ceil(cores * together / multiple) * multiple
    for name, amount in asked.items():
        if name != "core":
            # Memory is the same for each core.
            parts = asked["core"] if name == "mem" else 1
            asked[name] = ceil(amount * job.tasks / (tasks * parts)) * parts
    return replace(
        job,
        tasks=tasks,
        request=tuple(asked[name] for name in machine.resources),
        tasks_per_node=ceil(job.tasks_per_node / together),
    )
