"""Jobs, nodes and their GPUs, as algorithms see and change them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .enumeration import Enumeration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Gpu", "GpuState", "Job", "JobState", "JobType", "Node", "NodeState", "NodeType"]


class JobType(Enumeration):
    """The type of a job: who may change its number of nodes, and when."""

    RIGID = 0
    MOLDABLE = 1
    MALLEABLE = 2
    EVOLVING = 3
    ADAPTIVE = 4


class JobState(Enumeration):
    """The state of a job."""

    PENDING = 1
    RUNNING = 4
    PENDING_RECONFIGURATION = 5
    IN_RECONFIGURATION = 6
    COMPLETED = 7
    KILLED = 8


class Job:
    """A job.

    Parameters
    ----------
    json_job
        The JSON object of the job in a message.
    nodes
        The nodes, indexed by identifier.
    changed
        The list to which the job appends itself when it is changed; by default its own.

    Attributes
    ----------
    identifier, type, state
        Its number in order of submission, from 0; its type; its state.
    submit_time, walltime, start_time, end_time, wait_time, makespan, turnaround_time
        Seconds; -1 while unknown. A walltime of 0 is no limit; makespan is end - start.
    num_nodes, num_gpus_per_node
        The request of a rigid job; None for other jobs.
    num_nodes_min, num_nodes_max, num_gpus_per_node_min, num_gpus_per_node_max
        The request of a job that is not rigid; None for rigid jobs.
    assigned_nodes, assigned_node_ids, assigned_num_gpus_per_node
        The assigned nodes and GPUs; in the order of a Python set after each update by the simulator.
    arguments, attributes, runtime_arguments
        Texts by name.
    total_phase_count, completed_phases
        Total and completed iterations of all phases, at the last update.
    modified, modified_runtime_args, kill_flag
        Changes by the algorithm in this invocation.
    """

    num_nodes: int | None = None
    num_gpus_per_node: int | None = None
    num_nodes_min: int | None = None
    num_nodes_max: int | None = None
    num_gpus_per_node_min: int | None = None
    num_gpus_per_node_max: int | None = None

    def __init__(
        self, json_job: Mapping[str, Any], nodes: Sequence[Node] = (), changed: list[Job] | None = None
    ) -> None:
        self.identifier: int = json_job["id"]
        self.type = JobType(json_job["type"])
        self.submit_time: float = json_job["submit_time"]
        self.walltime: float = json_job["walltime"]
        limits = ("", "") if self.type is JobType.RIGID else ("_min", "_max")
        for name in ("num_nodes", "num_gpus_per_node"):
            for limit in limits:
                setattr(self, name + limit, json_job[name + limit])
        self.arguments: dict[str, str] = json_job.get("arguments", {})
        self.attributes: dict[str, str] = json_job.get("attributes", {})
        self.modified_runtime_args = False
        self.kill_flag = False
        self._modified = False
        self._changed: list[Job] = [] if changed is None else changed
        self.update(json_job, nodes)

    def update(self, json_job: Mapping[str, Any], nodes: Sequence[Node]) -> None:
        """Apply a message to the job."""
        self.state = JobState(json_job["state"])
        self.start_time: float = json_job["start_time"]
        self.end_time: float = json_job["end_time"]
        self.wait_time: float = json_job["wait_time"]
        self.makespan: float = json_job["makespan"]
        self.turnaround_time: float = json_job["turnaround_time"]
        self.reassign(json_job["assigned_nodes"], nodes)
        self.assigned_num_gpus_per_node: int = json_job["assigned_num_gpus_per_node"]
        self.runtime_arguments: dict[str, str] = json_job.get("runtime_arguments", {})
        self.total_phase_count: int = json_job["total_phase_count"]
        self.completed_phases: int = json_job["completed_phases"]

    def reassign(self, identifiers: Iterable[int], nodes: Sequence[Node]) -> None:
        """Set the assigned nodes, in the order of a set as in ElastiSim's package."""
        self.assigned_node_ids: set[int] = set(identifiers)
        self.assigned_nodes: list[Node] = [nodes[node] for node in self.assigned_node_ids]

    @property
    def modified(self) -> bool:
        """True if the job has changes for the simulator."""
        return self._modified

    @modified.setter
    def modified(self, value: bool) -> None:
        if value and not self._modified:
            self._changed.append(self)
        self._modified = value

    def assign(self, nodes: Node | list[Node]) -> None:
        """Assign nodes to the job, in addition to those it has."""
        self._check_not_killed()
        new = [
            node
            for node in (nodes if isinstance(nodes, list) else [nodes])
            if node.identifier not in self.assigned_node_ids
        ]
        self.assigned_node_ids.update([node.identifier for node in new])
        self.assigned_nodes.extend(new)
        self.modified = True

    def remove(self, nodes: Node | list[Node]) -> None:
        """Remove nodes from the job."""
        self._check_not_killed()
        removed = {node.identifier for node in (nodes if isinstance(nodes, list) else [nodes])}
        self.assigned_node_ids -= removed
        self.assigned_nodes = [node for node in self.assigned_nodes if node.identifier not in removed]
        self.modified = True

    def kill(self) -> None:
        """Request that the job is killed."""
        self.modified = True
        self.kill_flag = True

    def assign_num_gpus_per_node(self, assigned_num_gpus_per_node: int) -> None:
        """Set the number of GPUs per node; it takes effect when nodes are assigned or removed."""
        self.assigned_num_gpus_per_node = assigned_num_gpus_per_node

    def update_runtime_argument(self, key: str, value: object) -> None:
        """Set a variable of the job's formulas, effective from the next start or reconfiguration."""
        self.modified = True
        self.modified_runtime_args = True
        self.runtime_arguments[key] = str(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the job for the reply, and reset its change flags."""
        told: dict[str, Any] = {
            "id": self.identifier,
            "assigned_node_ids": [node.identifier for node in self.assigned_nodes],
            "assigned_num_gpus_per_node": self.assigned_num_gpus_per_node,
            "kill_flag": self.kill_flag,
            "modified_runtime_args": self.modified_runtime_args,
        }
        if self.modified_runtime_args:
            told["runtime_arguments"] = self.runtime_arguments
            self.modified_runtime_args = False
        self._modified = False
        return told

    def _check_not_killed(self) -> None:
        if self.kill_flag:
            raise RuntimeError("Job already flagged to be killed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.identifier == other.identifier

    def __hash__(self) -> int:
        return hash(self.identifier)

    def __lt__(self, other: Job) -> bool:
        return self.identifier < other.identifier

    def __repr__(self) -> str:
        return (
            f"Job(id={self.identifier}, type={self.type.name}, state={self.state.name}, "
            f"assigned_node_ids={self.assigned_node_ids})"
        )


class GpuState(Enumeration):
    """Whether a GPU is computing."""

    FREE = 0
    ALLOCATED = 1


class NodeType(Enumeration):
    """The storage type of a node."""

    COMPUTE_NODE = 0
    COMPUTE_NODE_WITH_BB = 1
    COMPUTE_NODE_WIDE_STRIPED_BB = 2


class NodeState(Enumeration):
    """The state of a node: free, running a job, or reserved for a reconfiguration."""

    FREE = 0
    ALLOCATED = 1
    RESERVED = 2


class Gpu:
    """A GPU of a node.

    Parameters
    ----------
    json_gpu
        The JSON object of the GPU in a message.

    Attributes
    ----------
    identifier
        Its index in the node, from 0.
    state
        Whether it is computing.
    """

    def __init__(self, json_gpu: Mapping[str, int]) -> None:
        self.identifier = json_gpu["id"]
        self.state = GpuState(json_gpu["state"])


class Node:
    """A compute node.

    Parameters
    ----------
    json_node
        The JSON object of the node in a message.
    jobs
        The jobs, indexed by identifier.

    Attributes
    ----------
    identifier
        Its number, from 0, in lexicographic order of host names.
    type, state
        Its storage type and its state.
    assigned_job_ids, assigned_jobs
        The jobs running on it.
    gpus
        Its GPUs.
    """

    def __init__(self, json_node: Mapping[str, Any], jobs: Sequence[Job] = ()) -> None:
        self.identifier: int = json_node["id"]
        self.type = NodeType(json_node["type"])
        self.update(json_node, jobs)

    def update(self, json_node: Mapping[str, Any], jobs: Sequence[Job]) -> None:
        """Apply a message to the node."""
        self._set_state(NodeState(json_node["state"]), partial(list, json_node["assigned_jobs"]), jobs)
        self.gpus = [Gpu(gpu) for gpu in json_node["gpus"]]

    def _set_state(self, state: NodeState, told: Callable[[], Iterable[int]], jobs: Sequence[Job]) -> None:
        # Few algorithms read the jobs of a node, so the last message is evaluated on access. This is
        # implemented in this class, since algorithms set `node.__class__` to derived classes.
        self.state = state
        self._running_ids, self._known_jobs = told, jobs
        self._job_ids: set[int] | None = None
        self._jobs: list[Job] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_running_ids": partial(list, self.assigned_job_ids)}

    @property
    def assigned_job_ids(self) -> set[int]:
        """The identifiers of the jobs running on the node."""
        if self._job_ids is None:
            self._job_ids = set(self._running_ids())
        return self._job_ids

    @assigned_job_ids.setter
    def assigned_job_ids(self, value: set[int]) -> None:
        self._job_ids = value

    @property
    def assigned_jobs(self) -> list[Job]:
        """The jobs running on the node."""
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
