"""First come, first served; malleable jobs grow into what is free, and shrink when jobs wait."""

import sys
from typing import Any

from elastisim_python import InvocationType, Job, JobState, JobType, Node, NodeState, pass_algorithm


def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
    """Decide, whenever something has happened."""
    free = [node for node in nodes if node.state is NodeState.FREE]
    waiting = [job for job in jobs if job.state is JobState.PENDING]
    for job in waiting:
        least, most = (
            (job.num_nodes, job.num_nodes)
            if job.type is JobType.RIGID
            else (job.num_nodes_min, job.num_nodes_max)
        )
        if len(free) < least:
            break
        count = min(len(free), most)
        job.assign(free[:count])
        del free[:count]
    if system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
        resize(system["job"], free, [job for job in waiting if not job.assigned_nodes])
    elif system["invocation_type"] is InvocationType.INVOKE_EVOLVING_REQUEST:
        grant(system["job"], free, system["evolving_request"])


def resize(job: Job, free: list[Node], waiting: list[Job]) -> None:
    """Grow a job at its scheduling point, or shrink it to its minimum."""
    has = len(job.assigned_nodes)
    if waiting:
        job.remove(job.assigned_nodes[job.num_nodes_min :])
    elif free and has < job.num_nodes_max:
        job.assign(free[: job.num_nodes_max - has])


def grant(job: Job, free: list[Node], wanted: int) -> None:
    """Grant the requested nodes of a job that are free."""
    more = wanted - len(job.assigned_nodes)
    if more < 0:
        job.remove(job.assigned_nodes[more:])
    elif free:
        job.assign(free[:more])


if __name__ == "__main__":
    pass_algorithm(schedule, sys.argv[1])
