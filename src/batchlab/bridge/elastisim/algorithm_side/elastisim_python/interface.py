"""The communication with the simulator: PAIR sockets of ZeroMQ, messages in JSON."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .enumeration import Enumeration
from .job import Job
from .node import Node

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CommunicationCode", "InvocationType", "Memory", "pass_algorithm"]

# Bytes. A call lists every changed job and every node; ZeroMQ closes the connection for longer messages.
LARGEST_MESSAGE = 1 << 30


class InvocationType(Enumeration):
    """The reason for calling the algorithm."""

    INVOKE_PERIODIC = 0
    INVOKE_JOB_SUBMIT = 1
    INVOKE_JOB_COMPLETED = 2
    INVOKE_JOB_KILLED = 3
    INVOKE_SCHEDULING_POINT = 4
    INVOKE_EVOLVING_REQUEST = 5
    INVOKE_RECONFIGURATION = 6


class CommunicationCode(Enumeration):
    """The type of a message."""

    ZMQ_INVOKE_SCHEDULING = 0xFFEC4400
    ZMQ_SCHEDULED = 0xFFEC4401
    ZMQ_FINALIZE = 0xFFEC44FF


class Memory:
    """All jobs and nodes that the simulator has sent, which the algorithm reads and changes.

    Attributes
    ----------
    jobs, nodes
        Indexed by identifier.
    changed
        The jobs that the algorithm changed in this invocation.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.nodes: list[Node] = []
        self.changed: list[Job] = []

    def take(self, message: dict[str, Any]) -> dict[str, Any]:
        """Apply a message to jobs and nodes, and return the ``system`` argument of the algorithm."""
        for json_job in message["jobs"]:
            if json_job["id"] < len(self.jobs):
                self.jobs[json_job["id"]].update(json_job, self.nodes)
            else:
                self.jobs.append(Job(json_job, self.nodes, self.changed))
        # A message may contain a node several times, always with its current state.
        for json_node in {node["id"]: node for node in message["nodes"]}.values():
            if json_node["id"] < len(self.nodes):
                self.nodes[json_node["id"]].update(json_node, self.jobs)
            else:
                self.nodes.append(Node(json_node, self.jobs))
        system = dict(message)
        system["invocation_type"] = InvocationType(message["invocation_type"])
        if "job_id" in message:
            system["job"] = self.jobs[message["job_id"]]
        return system

    def answer(self) -> list[dict[str, Any]]:
        """Return the changes by the algorithm, sorted by job."""
        self.changed.sort()
        told = [job.to_dict() for job in self.changed if job.modified]
        self.changed.clear()
        return told


def pass_algorithm(schedule: Callable[[list[Job], list[Node], dict[str, Any]], object], url: str) -> None:
    """Let the simulator call an algorithm until the simulation ends.

    Parameters
    ----------
    schedule
        The algorithm: a function of jobs, nodes and the state of the system that changes the jobs.
    url
        The address of the simulator; ignored in a process that batchlab started.
    """
    import zmq  # noqa: PLC0415  # within batchlab's own process nothing is sent

    memory = Memory()
    with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
        socket.maxmsgsize = LARGEST_MESSAGE
        socket.connect(os.environ.get("BATCHLAB_ELASTISIM_URL", url))
        while True:
            message: dict[str, Any] = json.loads(socket.recv())
            if CommunicationCode(message["code"]) is CommunicationCode.ZMQ_FINALIZE:
                return
            schedule(memory.jobs, memory.nodes, memory.take(message))
            socket.send_json({"code": CommunicationCode.ZMQ_SCHEDULED.value, "jobs": memory.answer()})
