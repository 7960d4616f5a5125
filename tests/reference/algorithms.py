"""A stand-in for ElastiSim's Python library, so that its users' algorithms decide in the reference."""

import sys
from collections.abc import Callable, Sequence
from enum import Enum
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

from reference.elastic import KINDS, Decision, Elastic, Invocation, Job, Node


class JobType(Enum):
    """What may change the number of a job's nodes."""

    RIGID, MOLDABLE, MALLEABLE, EVOLVING, ADAPTIVE = range(5)


class JobState(Enum):
    """What a job is doing."""

    PENDING = 1
    RUNNING, PENDING_RECONFIGURATION, IN_RECONFIGURATION, COMPLETED, KILLED = range(4, 9)


class NodeState(Enum):
    """What a node is doing."""

    FREE, ALLOCATED, RESERVED = range(3)


class InvocationType(Enum):
    """Why the algorithm is asked."""

    INVOKE_PERIODIC = 0
    INVOKE_JOB_SUBMIT = 1
    INVOKE_JOB_COMPLETED = 2
    INVOKE_JOB_KILLED = 3
    INVOKE_SCHEDULING_POINT = 4
    INVOKE_EVOLVING_REQUEST = 5
    INVOKE_RECONFIGURATION = 6


class NodeSeen:
    """A node, as the algorithm was last told."""

    def __init__(self, identifier: int, node: Node) -> None:
        self.identifier = identifier
        self.state = NodeState(node.state)


class JobSeen:
    """A job, as the algorithm was last told, and what it wants with it."""

    def __init__(self, job: Job, nodes: Sequence[NodeSeen]) -> None:
        self.identifier, self.submit_time = job.number, job.submit_time
        self.type, self.state = JobType[job.job_type.upper()], JobState(job.state)
        self.walltime = job.walltime if job.walltime < inf else 0.0
        self.num_nodes = self.num_nodes_max = job.nodes[1]
        self.num_nodes_min = job.nodes[0]
        self.num_gpus_per_node_min, self.num_gpus_per_node_max = job.gpus
        self.assigned_num_gpus_per_node = job.assigned_gpus
        self.completed_phases = job.run.done if job.run else 0
        # The library keeps them in a set, and so loses the order of ranks.
        self.assigned_nodes = [nodes[node] for node in set(job.assigned)]
        self.modified = self.kill_flag = False

    def assign(self, nodes: NodeSeen | list[NodeSeen]) -> None:
        listed = nodes if isinstance(nodes, list) else [nodes]
        self.assigned_nodes += [node for node in listed if node not in self.assigned_nodes]
        self.modified = True

    def remove(self, nodes: NodeSeen | list[NodeSeen]) -> None:
        listed = nodes if isinstance(nodes, list) else [nodes]
        self.assigned_nodes = [node for node in self.assigned_nodes if node not in listed]
        self.modified = True

    def kill(self) -> None:
        self.modified = self.kill_flag = True

    def assign_num_gpus_per_node(self, number: int) -> None:
        self.assigned_num_gpus_per_node = number

    def decision(self) -> Decision:
        self.modified = False
        return {
            "id": self.identifier,
            "assigned_node_ids": [node.identifier for node in self.assigned_nodes],
            "assigned_num_gpus_per_node": self.assigned_num_gpus_per_node,
            "kill_flag": self.kill_flag,
        }


class Algorithm:
    """Decide by a `schedule(jobs, nodes, system)`; what it sees is what it has been told."""

    def __init__(self, schedule: Callable[[list[Any], list[Any], dict[str, Any]], None]) -> None:
        self.schedule = schedule
        self.jobs: list[Any] = []
        self.nodes: list[Any] = []

    def __call__(self, simulation: Elastic, asked: Invocation) -> list[Decision]:
        for identifier in dict.fromkeys(asked.changed_nodes):
            self.nodes[identifier : identifier + 1] = [NodeSeen(identifier, simulation.nodes[identifier])]
        for job in sorted(asked.changed_jobs, key=lambda job: job.number):
            self.jobs[job.number : job.number + 1] = [JobSeen(job, self.nodes)]
        kind = InvocationType(KINDS.index(asked.kind))
        system = {"time": asked.time, "invocation_type": kind, "evolving_request": asked.tasks}
        if asked.job:
            system["job"] = self.jobs[asked.job.number]
        self.schedule(self.jobs, self.nodes, system)
        return [job.decision() for job in self.jobs if job.modified]


def read_algorithm(path: Path) -> Algorithm:
    """Read a script that was written for ElastiSim's library."""
    library = ModuleType("elastisim_python")
    for each in (JobType, JobState, NodeState, InvocationType):
        setattr(library, each.__name__, each)
    library.pass_algorithm = None  # type: ignore[attr-defined]
    names: dict[str, Any] = {"__name__": "algorithm"}
    sys.modules["elastisim_python"] = library
    try:
        exec(compile(path.read_text(), path, "exec"), names)  # noqa: S102 - the oracle's own script
    finally:
        del sys.modules["elastisim_python"]
    return Algorithm(names["schedule"])
