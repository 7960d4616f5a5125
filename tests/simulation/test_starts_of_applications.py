"""With which tasks, nodes and GPUs a scheduler starts and resizes jobs that run applications."""

from __future__ import annotations

import numpy as np
import pytest

import batchlab as bl
from batchlab import tasks
from support.resizing import SYSTEM, Scripted, job


def test_moldable_starts_on_any_size() -> None:
    """A scheduler chooses the size of a moldable job when it starts it."""

    class OnFour(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, tasks=4)

    result = bl.simulate(bl.Workload.from_jobs([job("moldable")]), SYSTEM, OnFour())
    assert result.jobs["end_time"].to_list() == [12]


def test_ranks_in_any_sequence() -> None:
    """Nodes by rank may be an array, or whatever can be walked over; their order is that of the ranks."""
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0, cores=2)
    seen: list[list[int]] = []
    kinds = (np.array, tuple, iter)

    class ByRank(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, nodes=kinds[len(seen)]([0, 1, 0]))
                seen.append(waiting.ranks)

    workload = bl.Workload.from_jobs([job(submit_time=100 * number) for number in range(3)])
    bl.simulate(workload, bl.System.of(platform), ByRank())
    assert seen == [[0, 1, 0]] * 3


@pytest.mark.parametrize(
    ("hosts", "nodes"), [pytest.param(4, [0, 2], id="with the nodes"), pytest.param(2, [0, 1], id="alone")]
)
def test_gpus_change(hosts: int, nodes: list[int]) -> None:
    """A job may use other numbers of GPUs from a resizing on: of other nodes, and of the same ones."""
    platform = bl.Platform.crossbar(
        hosts, speed="1Gf", bandwidth="1GBps", gpus=4, gpu_speed="1Tf", gpu_bandwidth="50GBps"
    )
    train = bl.Application([bl.Phase([tasks.Gpu(flops=8e12, computation_pattern="all_ranks")], iterations=4)])
    workload = bl.Workload.from_jobs(
        [bl.JobDescription(application=train, job_type="malleable", tasks=2, tasks_min=1, tasks_max=hosts)]
    )

    class FirstOne(Scripted):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, nodes=[0, 1], gpus=1)
            super().schedule(view)

    scheduler = FirstOne({4: lambda view: view.resize(view.job(0), nodes=nodes, gpus=4)})
    result = bl.simulate(workload, bl.System.of(platform), scheduler)
    assert result.jobs["end_time"].to_list() == [4 + 3 * 1]
