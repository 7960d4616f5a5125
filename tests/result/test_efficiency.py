"""The allocation efficiency of jobs: by hand, and job by job from the definition."""

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 4, "mem": 10})


def result_of(**columns: list[float]) -> bl.Result:
    """Run jobs that ask for cores and memory, first fit."""
    return bl.simulate(bl.Workload.from_table(columns), SYSTEM, "first_fit")


def test_by_hand() -> None:
    """Of 14 units on node 0 job 1 asks for 6, when job 2 has started at its instant and taken 3."""
    result = result_of(
        submit_time=[0, 0, 1, 20],
        run_time=[10, 5, 0, 1],
        tasks=[2, 1, 1, 5],
        core=[1, 1, 1, 1],
        mem=[2, 2, 1, 1],
    )
    found = bl.metrics.allocation_efficiency(result).to_list()
    assert found == [6 / (6 + 5), 3 / (3 + 5), None, pytest.approx(10 / 28)]
    assert bl.metrics.allocation_efficiency(result, "core").to_list() == [2 / 3, 1 / 2, None, 5 / 8]


def test_from_the_definition() -> None:
    """Every job of a generated log has what its nodes, and who is there at its start, say."""
    workload = bl.generate.demo_workload(300, seed=4)
    system = bl.System.homogeneous(nodes=16, resources={"core": 8})
    result = bl.simulate(workload, system, "easy(allocator=best_fit)")
    found = bl.metrics.allocation_efficiency(result)
    placed = result.placements.join(
        result.jobs.with_row_index("row").select("row", "start_time", "end_time"), on="row"
    )
    placed = placed.filter(pl.col("end_time") > pl.col("start_time"))
    for (row,), own in placed.group_by("row"):
        now = own["start_time"][0]
        there = placed.filter((pl.col("start_time") <= now) & (pl.col("end_time") > now))
        used = int(there.filter(pl.col("node").is_in(own["node"].to_list()))["tasks"].sum())
        asked, capacity = int(own["tasks"].sum()), 8 * own.height
        assert found[row] == pytest.approx(asked / (asked + capacity - used))


def test_interrupted_and_resized_jobs_hold_what_they_held() -> None:
    """What a job held before it was put back counts for those that started then."""

    class Once(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            if view.now == 5 and view.running and view.running[0].id == 1:
                view.preempt(view.running[0])
                view.wake(6)
                return
            for job in view.queue:
                view.start(job)

    jobs = {
        "submit_time": [0, 0, 5],
        "run_time": [10, 50, 1],
        "tasks": [2, 1, 1],
        "core": [1] * 3,
        "mem": [0] * 3,
    }
    result = bl.simulate(bl.Workload.from_table(jobs), SYSTEM, Once())
    assert result.interruptions.height == 1
    assert bl.metrics.allocation_efficiency(result, "core")[1] == 1 / 2


def test_an_unknown_resource() -> None:
    """It is named, with the nearest that there is."""
    result = result_of(submit_time=[0], run_time=[1], tasks=[1], core=[1], mem=[0])
    with pytest.raises(ResultError, match="resource = 'cor'; the system has none"):
        bl.metrics.allocation_efficiency(result, "cor")
