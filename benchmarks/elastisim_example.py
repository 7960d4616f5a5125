"""The algorithm of ElastiSim's example project, after its description: FCFS that grows jobs."""

import sys
from typing import Any

from elastisim_python import InvocationType, Job, JobState, JobType, Node, NodeState, pass_algorithm


def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
    free = [node for node in nodes if node.state is NodeState.FREE]
    if system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
        grow(system["job"], free)
    elif system["invocation_type"] is InvocationType.INVOKE_EVOLVING_REQUEST:
        answer(system["job"], free, system["evolving_request"])
    else:
        start([job for job in jobs if job.state is JobState.PENDING], free)


def start(waiting: list[Job], free: list[Node]) -> None:
    for job in waiting:
        rigid = job.type is JobType.RIGID
        least, most = (job.num_nodes, job.num_nodes) if rigid else (job.num_nodes_min, job.num_nodes_max)
        count = min(len(free), most)
        if count < least:
            return
        job.assign(free[:count])
        del free[:count]


def grow(job: Job, free: list[Node]) -> None:
    more = min(len(free), job.num_nodes_max - len(job.assigned_nodes))
    if more > 0:
        job.assign(free[:more])


def answer(job: Job, free: list[Node], wanted: int) -> None:
    more = wanted - len(job.assigned_nodes)
    if more < 0:
        job.remove(job.assigned_nodes[more:])
    elif more <= len(free):
        job.assign(free[:more])


if __name__ == "__main__":
    pass_algorithm(schedule, sys.argv[1])
