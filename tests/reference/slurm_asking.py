"""What jobs ask of the nodes of a partition under Slurm's controller, in plain Python (S25, S27)."""

from math import ceil

from batchlab.slurm import Entry
from reference.slurm import suitable_of
from reference.slurm_jobs import SlurmJob
from reference.slurm_selection import Machine

__all__ = ["fits_idle", "least_nodes", "suitable", "tasks_of_node", "whole"]


def whole(machine: Machine, job: SlurmJob) -> bool:
    """Tell whether a job takes whole nodes."""
    return machine.select == "linear" or job.exclusive


def tasks_of_node(machine: Machine, job: SlurmJob, partition: int) -> int:
    """Give how many tasks a job has on a node that it takes whole."""
    return max((_slots(machine, job, node) for node in _bound(machine, job, partition)), default=0) or 1


def suitable(machine: Machine, job: SlurmJob, partition: int) -> list[int]:
    """Give the nodes with a job's features that take some of its tasks, where it takes them whole."""
    nodes = _bound(machine, job, partition)
    return [node for node in nodes if not whole(machine, job) or _slots(machine, job, node)]


def fits_idle(machine: Machine, entry: Entry) -> bool:
    """Tell whether a job fits on the suitable nodes of its partition when these are idle."""
    nodes = suitable_of(entry, machine.partitions[entry.partition][0])
    return machine.choose(entry, nodes, machine.left([]), machine.weights()) is not None


def least_nodes(machine: Machine, job: SlurmJob) -> int:
    """Give the fewest nodes that a job could run on if it might have any of the machine (S11)."""
    most = max(_slots(machine, job, node) for node in range(len(machine.nodes)))
    return ceil(job.tasks / (most or 1))


def _bound(machine: Machine, job: SlurmJob, partition: int) -> frozenset[int]:
    nodes = machine.partitions[partition][0]
    return nodes if job.bound is None else nodes & job.bound


def _slots(machine: Machine, job: SlurmJob, node: int) -> int:
    """Give how many tasks an idle node takes."""
    asked = job.cpus, job.memory, job.gpus
    most = min(left // amount for left, amount in zip(machine.nodes[node], asked, strict=False) if amount)
    return min(most, job.tasks_per_node or most)
