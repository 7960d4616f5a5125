"""Policies that choose the sizes of jobs, on four equal hosts; times by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from support.resizing import STEPS, SYSTEM, Closes, job

if TYPE_CHECKING:
    from batchlab.core.vocabulary import SizeOrderName


@pytest.mark.parametrize("order", ["fcfs", "sjf", "srtf", "drf", "equipartition"])
def test_malleable_policies_use_the_machine(order: SizeOrderName) -> None:
    """One job alone grows to the whole machine; a second takes its part at the next point."""
    workload = bl.Workload.from_jobs([job(requested_time=200), job(submit_time=4, requested_time=50)])
    result = bl.simulate(workload, SYSTEM, bl.Malleable(order))
    first = result.allocations.filter(row=0)["nodes"].list.len().to_list()
    assert first[0] == 4
    assert min(first) < 4
    assert result.jobs["start_time"].to_list() == [0, 6]
    assert result.metrics()["utilisation"] == {"core": pytest.approx(1.0)}


def test_equal_parts() -> None:
    """Equipartition halves the machine between two jobs."""
    workload = bl.Workload.from_jobs([job(), job()])
    result = bl.simulate(workload, SYSTEM, "equipartition")
    assert result.jobs["end_time"].to_list() == [24, 24]


def test_look_ahead_sees_what_jobs_have() -> None:
    """In a look ahead no job is resized, and a job has the tasks that it had."""
    seen: list[list[int]] = []

    class Looks(bl.Malleable):
        def schedule(self, view: bl.View) -> None:
            seen.append([each.tasks for each in view.running])
            if view.now == 1 and len(seen) == 2:
                view.fork().run_until()
            super().schedule(view)

    jobs = [job(requested_time=60), job(submit_time=1, requested_time=60)]
    bl.Simulation(bl.Workload.from_jobs(jobs), SYSTEM, Looks()).run_until(1)
    assert seen[:3] == [[], [4], [4]]


@pytest.mark.parametrize("order", ["fcfs", "drf", "equipartition"])
def test_malleable_policies_on_a_machine_that_is_closed(order: SizeOrderName) -> None:
    """Where nothing is on offer, those that run go on as they are."""
    observers = [Closes(2, lambda view, node=node: view.drain(node)) for node in range(4)]  # type: ignore[misc]
    result = bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, bl.Malleable(order), observers=observers)
    assert result.jobs["state"].to_list() == ["completed"]


def test_malleable_policies_start_several_tasks_on_nodes_of_their_own() -> None:
    """A job that has its nodes for itself may have as many tasks there as there is room for."""
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0, cores=2)
    alone = bl.JobDescription(run_time=5, tasks=3, others={"exclusive": True})
    result = bl.simulate(bl.Workload.from_jobs([alone]), bl.System.of(platform), "malleable")
    assert result.jobs["end_time"].to_list() == [5]


def test_who_can_do_with_less_is_not_rejected() -> None:
    """A job that asks for more than there is runs on what there is, under who can give it less."""
    large = bl.JobDescription(application=STEPS, job_type="moldable", tasks=8, tasks_min=2, tasks_max=8)
    workload = bl.Workload.from_jobs([large])
    assert bl.simulate(workload, SYSTEM, "fcfs").jobs["state"].to_list() == ["rejected"]
    assert bl.simulate(workload, SYSTEM, "malleable").jobs["end_time"].to_list() == [12]
