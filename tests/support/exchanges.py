"""The same parallel tasks by `share` and by `simulate`: one job for each, which does nothing else."""

from collections.abc import Sequence

import numpy as np

import batchlab as bl
from batchlab import tasks
from batchlab.application.tasks import Compute, Write
from batchlab.core.vocabulary import SharingModel

__all__ = ["PLACES", "Placed", "job_of", "simulated"]

PLACES = {"place": 1_000_000}


class Placed(bl.Scheduler):
    """Starts every job at once, on the nodes that are given for it, rank by rank."""

    def __init__(self, nodes: Sequence[Sequence[int]]) -> None:
        self.nodes = nodes

    def schedule(self, view: bl.View) -> None:
        for job in list(view.queue):
            assert view.start(job, nodes=list(self.nodes[job.row]))


def job_of(task: Compute | Write, ranks: int, start: float) -> bl.JobDescription:
    """Give a job that does one task."""
    application = bl.Application([bl.Phase([task], scheduling_point=False)])
    return bl.JobDescription(application=application, submit_time=start, tasks=ranks, resources={"place": 1})


def task_of(activity: bl.Flow | bl.ParallelTask) -> Compute:
    """Give the task that is a parallel task, or a flow."""
    if isinstance(activity, bl.Flow):
        matrix = [0.0, activity.bytes, 0.0, 0.0]
        return tasks.Compute(bytes=matrix, communication_pattern="matrix")
    matrix = np.asarray(activity.bytes).ravel().tolist()
    return tasks.Compute(
        flops=list(activity.flops),
        computation_pattern="vector",
        bytes=matrix,
        communication_pattern="matrix",
        coupled=True,
    )


def simulated(
    platform: bl.Platform,
    activities: Sequence[bl.Flow | bl.ParallelTask],
    model: SharingModel | bl.NetworkModel,
    described: Sequence[Compute | Write] | None = None,
) -> list[float]:
    """Say when each is done in a simulation; `described` are tasks that do the same in other words."""
    hosts = [(each.src, each.dst) if isinstance(each, bl.Flow) else tuple(each.hosts) for each in activities]
    names = [host.name for host in platform.nodes]
    nodes = [[names.index(str(host)) for host in chosen] for chosen in hosts]
    work: Sequence[Compute | Write] = described or [task_of(each) for each in activities]
    jobs = [
        job_of(task, len(chosen), each.start)
        for task, chosen, each in zip(work, nodes, activities, strict=True)
    ]
    system = bl.System.of(platform, resources=PLACES)
    result = bl.simulate(bl.Workload.from_jobs(jobs), system, Placed(nodes), sharing=model)
    ends: list[float] = result.jobs["end_time"].to_list()
    return ends
