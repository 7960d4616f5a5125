"""Compute nodes and their GPUs as an algorithm sees them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .enumeration import Enumeration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
        self._look_again(NodeState(json_node["state"]), partial(list, json_node["assigned_jobs"]), jobs)
        self.gpus = [Gpu(gpu) for gpu in json_node["gpus"]]

    def _look_again(self, state: NodeState, told: Callable[[], Iterable[int]], jobs: Sequence[Job]) -> None:
        # Few algorithms ask which jobs are on a node: that is looked up when one does, in what was told last.
        # It is so in this class, since algorithms set `node.__class__` to classes derived from it.
        self.state = state
        self._told, self._known_jobs = told, jobs
        self._job_ids: set[int] | None = None
        self._jobs: list[Job] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_told": partial(list, self.assigned_job_ids)}

    @property
    def assigned_job_ids(self) -> set[int]:
        """The jobs that run on it, by their numbers."""
        if self._job_ids is None:
            self._job_ids = set(self._told())
        return self._job_ids

    @assigned_job_ids.setter
    def assigned_job_ids(self, value: set[int]) -> None:
        self._job_ids = value

    @property
    def assigned_jobs(self) -> list[Job]:
        """The jobs that run on it."""
        if self._jobs is None:
            self._jobs = [self._known_jobs[job] for job in self.assigned_job_ids]
        return self._jobs

    @assigned_jobs.setter
    def assigned_jobs(self, value: list[Job]) -> None:
        self._jobs = value

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
