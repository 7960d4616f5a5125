"""Compute nodes and their GPUs as an algorithm sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .enumeration import Enumeration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .job import Job

__all__ = ["Gpu", "GpuState", "Node", "NodeState", "NodeType"]


class GpuState(Enumeration):
    """Whether a GPU computes."""

    FREE = 0
    ALLOCATED = 1


class NodeType(Enumeration):
    """What storage a node has."""

    COMPUTE_NODE = 0
    COMPUTE_NODE_WITH_BB = 1
    COMPUTE_NODE_WIDE_STRIPED_BB = 2


class NodeState(Enumeration):
    """Whether a node is free, runs a job, or is kept for a reconfiguration."""

    FREE = 0
    ALLOCATED = 1
    RESERVED = 2


class Gpu:
    """A GPU of a node.

    Parameters
    ----------
    json_gpu
        Its part of a message.

    Attributes
    ----------
    identifier
        Its number in the node, from 0.
    state
        Whether it computes.
    """

    def __init__(self, json_gpu: Mapping[str, int]) -> None:
        self.identifier = json_gpu["id"]
        self.state = GpuState(json_gpu["state"])


class Node:
    """A compute node.

    Parameters
    ----------
    json_node
        Its part of a message.
    jobs
        The jobs by identifier.

    Attributes
    ----------
    identifier
        Its number, from 0, in the lexicographic order of the hosts' names.
    type, state
        What it is, and whether it is free.
    assigned_job_ids, assigned_jobs
        The jobs that run on it.
    gpus
        Its GPUs.
    """

    def __init__(self, json_node: Mapping[str, Any], jobs: Sequence[Job] = ()) -> None:
        self.identifier: int = json_node["id"]
        self.type = NodeType(json_node["type"])
        self.update(json_node, jobs)

    def update(self, json_node: Mapping[str, Any], jobs: Sequence[Job]) -> None:
        """Take over what a message says."""
        self.state = NodeState(json_node["state"])
        self.assigned_job_ids: set[int] = set(json_node["assigned_jobs"])
        self.assigned_jobs: list[Job] = [jobs[job] for job in self.assigned_job_ids]
        self.gpus = [Gpu(gpu) for gpu in json_node["gpus"]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.identifier == other.identifier

    def __hash__(self) -> int:
        return hash(self.identifier)

    def __lt__(self, other: Node) -> bool:
        return self.identifier < other.identifier

    def __repr__(self) -> str:
        return (
            f"Node(id={self.identifier}, type={self.type.name}, state={self.state.name}, "
            f"assigned_job_ids={self.assigned_job_ids})"
        )
