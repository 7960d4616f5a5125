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


@pytest.mark.parametrize("nodes", [None, {0: 1, 1: 1}, [0, 1]])
def test_gpus_wherever_a_job_starts(nodes: object) -> None:
    """How many GPUs a job uses can be chosen whoever chooses the nodes."""
    platform = bl.Platform.crossbar(
        2, speed="1Gf", bandwidth="1GBps", gpus=4, gpu_speed="1Tf", gpu_bandwidth="50GBps"
    )
    train = bl.Application([bl.Phase([tasks.Gpu(flops=8e12, computation_pattern="all_ranks")], iterations=1)])

    class OnGpus(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, nodes, gpus=4)  # type: ignore[arg-type]  # of several kinds

    workload = bl.Workload.from_jobs([bl.JobDescription(application=train, tasks=2)])
    assert bl.simulate(workload, bl.System.of(platform), OnGpus()).jobs["end_time"].to_list() == [1]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"nodes": [0, 1], "tasks": 3}, "tasks = 3, but 2 are placed; give one of both"),
        ({"nodes": {0: 1}, "tasks": 2}, "tasks = 2, but 1 are placed"),
        ({"nodes": "ab"}, r"nodes = 'ab'; must be a mapping"),
        ({"nodes": {0: 2**31}}, "2147483648; it can have from 1 to 4"),
    ],
)
def test_starts_that_contradict_themselves(start: dict[str, object], message: str) -> None:
    """Where both are given, nodes and tasks must match."""

    class Starts(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, **start)  # type: ignore[arg-type]

    with pytest.raises(bl.DecisionError, match=message):
        bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, Starts())


def test_gpus_of_a_job_without_an_application() -> None:
    """A job that only has a run time uses no GPUs."""

    class Starts(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            view.start(view.queue[0], gpus=1)

    workload = bl.Workload.from_jobs([bl.JobDescription(run_time=1, tasks=1)])
    with pytest.raises(bl.DecisionError, match="carries a run time, not an application"):
        bl.simulate(workload, SYSTEM, Starts())


def test_gpus_change_with_the_nodes() -> None:
    """A job that gets other nodes may use other numbers of their GPUs from there on."""
    platform = bl.Platform.crossbar(
        4, speed="1Gf", bandwidth="1GBps", gpus=4, gpu_speed="1Tf", gpu_bandwidth="50GBps"
    )
    train = bl.Application([bl.Phase([tasks.Gpu(flops=8e12, computation_pattern="all_ranks")], iterations=4)])
    workload = bl.Workload.from_jobs(
        [bl.JobDescription(application=train, job_type="malleable", tasks=2, tasks_min=1, tasks_max=4)]
    )

    class FirstOne(Scripted):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, nodes=[0, 1], gpus=1)
            super().schedule(view)

    scheduler = FirstOne({4: lambda view: view.resize(view.job(0), nodes=[0, 2], gpus=4)})
    result = bl.simulate(workload, bl.System.of(platform), scheduler)
    assert result.jobs["end_time"].to_list() == [4 + 3 * 1]


def test_gpus_change_alone() -> None:
    """The same nodes with other numbers of GPUs are a reconfiguration too."""
    platform = bl.Platform.crossbar(
        2, speed="1Gf", bandwidth="1GBps", gpus=4, gpu_speed="1Tf", gpu_bandwidth="50GBps"
    )
    train = bl.Application([bl.Phase([tasks.Gpu(flops=8e12, computation_pattern="all_ranks")], iterations=4)])
    workload = bl.Workload.from_jobs(
        [bl.JobDescription(application=train, job_type="malleable", tasks=2, tasks_min=1, tasks_max=2)]
    )

    class FirstOne(Scripted):
        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, nodes=[0, 1], gpus=1)
            super().schedule(view)

    scheduler = FirstOne({4: lambda view: view.resize(view.job(0), nodes=[0, 1], gpus=4)})
    result = bl.simulate(workload, bl.System.of(platform), scheduler)
    assert result.jobs["end_time"].to_list() == [4 + 3 * 1]
