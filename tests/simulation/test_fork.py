"""Forks with other run times and other arrivals: what is refused, and how the copy shows them (S30)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import batchlab as bl
from support.python_schedulers import Easy

JOBS = {
    "job_id": [11, 12, 13, 14],
    "submit_time": [0.0, 1.0, 2.0, 50.0],
    "run_time": [5.0, 60.0, 30.0, 10.0],
    "requested_time": [10.0, 90.0, 30.0, 20.0],
    "tasks": [1, 2, 1, 1],
    "user": ["a", "b", "a", "b"],
}
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})


def under_way(policy: bl.Scheduler | str = "easy", options: bl.RunOptions | None = None) -> bl.Simulation:
    """Give a run in which job 11 has ended, 12 runs since 5 s, 13 waits, and 14 is not yet submitted."""
    simulation = bl.Simulation(bl.Workload.from_table(JOBS), SYSTEM, policy, options=options)
    simulation.run_until(10)
    return simulation


def starts(simulation: bl.Simulation) -> list[float | None]:
    """Run to the end; give the starts."""
    simulation.run_until()
    return simulation.result().jobs["start_time"].to_list()


@pytest.mark.parametrize("policy", ["easy", Easy()])
def test_a_total_is_the_truth_of_the_fork(policy: bl.Scheduler | str) -> None:
    """The job that runs ends 40 s after its start; the original does not change, nor do requests."""
    simulation = under_way(policy)
    fork = simulation.fork(run_times={12: 40.0, 13: 1.0})
    assert starts(fork) == [0.0, 5.0, 45.0, 50.0]
    jobs = fork.result().jobs
    assert jobs["run_time"].to_list() == [5.0, 40.0, 1.0, 10.0]
    assert jobs["requested_time"].to_list() == JOBS["requested_time"]
    assert starts(simulation) == [0.0, 5.0, 65.0, 65.0]


def test_run_times_by_row() -> None:
    """NaN leaves a job as it is."""
    fork = under_way().fork(run_times=np.array([np.nan, 40.0, np.nan, np.nan]))
    assert starts(fork) == [0.0, 5.0, 45.0, 50.0]


def test_no_arrivals() -> None:
    """The job that the workload submits later is not submitted."""
    fork = under_way().fork(arrivals="none")
    assert starts(fork) == [0.0, 5.0, 65.0, None]
    assert fork.next_time is None


def test_arrivals_of_a_table() -> None:
    """Job 11 comes again, larger and shorter than before; its first run is forgotten."""
    simulation = under_way()
    table = {"job_id": [11], "submit_time": [20.0], "tasks": [2], "requested_time": [5.0]}
    fork = simulation.fork(arrivals=table)
    assert fork.finished == simulation.finished - 1
    assert starts(fork) == [95.0, 5.0, 65.0, None]
    jobs = fork.result().jobs
    assert jobs.select("submit_time", "tasks", "requested_time").row(0) == (20.0, 2, 5.0)
    with pytest.raises(bl.SimulationError, match="a fork with a table of arrivals has no snapshot"):
        fork.snapshot()


def test_other_run_times_are_in_snapshots() -> None:
    """A fork that was restored has its run times."""
    simulation = under_way()
    fork = simulation.fork(run_times={12: 40.0}, arrivals="none")
    again = bl.Simulation.restore(fork.snapshot(), simulation.workload, SYSTEM, "easy")
    assert again.workload.jobs.equals(fork.workload.jobs)
    assert starts(again) == [0.0, 5.0, 45.0, None]


@pytest.mark.parametrize(
    ("run_times", "message"),
    [
        ({12: 0.0}, "job 12: 0 s; must be above the time that the job has already run, 0 s"),
        ({12: 91.0}, "job 12: 91 s; must not be above the time limit of the job, 90 s"),
        ({13: 31.0}, "job 13: 31 s; must not be above the time limit"),
        ({11: 3.0}, "job 11: 3 s; the job has ended"),
        ({99: 3.0}, "run_times: job 99; must be a job_id"),
        ({12: float("inf")}, "job 12: inf s; must be a finite number"),
        ({12: -1.0}, "job 12: -1 s; must be a finite number"),
        ({"x": 1.0}, "must map the job_id"),
        ([1.0], r"has the shape \(1,\); must have the shape \(4,\)"),
        ("fast", "must be a mapping from job_id to seconds"),
    ],
)
def test_wrong_run_times(run_times: object, message: str) -> None:
    """The error names the job, its value and the rule."""
    simulation = under_way()
    given: Any = run_times
    with pytest.raises(bl.SimulationError, match=message):
        simulation.fork(run_times=given)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_arrivals_of_jobs_whose_numbers_do_not_ascend(order: list[int]) -> None:
    """The fork submits the job with the number, wherever its row is; what the table leaves out stays."""
    numbers = [(11, 12, 13, 14)[place] for place in order]
    jobs = bl.Workload.from_table(JOBS | {"job_id": numbers})
    simulation = bl.Simulation(jobs, SYSTEM, "easy")
    simulation.run_until(10)
    fork = simulation.fork(arrivals={"job_id": [numbers[3]], "submit_time": [70.0]})
    shown = fork.workload.jobs
    assert shown["submit_time"].to_list() == [0.0, 1.0, 2.0, 70.0]
    assert shown.drop("submit_time").equals(simulation.workload.jobs.drop("submit_time"))
    assert starts(fork) == [0.0, 5.0, 65.0, 70.0]


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ("some", 'arrivals = \'some\'; must be "workload", "none", or a table'),
        (7, "arrivals = 7; must be"),
        ({"job_id": [11]}, "has no column 'submit_time'"),
        ({"job_id": [11], "submit_time": [20.0], "user": ["a"]}, "has a column 'user'"),
        ({"job_id": [99], "submit_time": [20.0]}, "arrivals: job 99; must be a job_id"),
        ({"job_id": [12], "submit_time": [20.0]}, "job 12: the job waits or runs"),
        ({"job_id": [11], "submit_time": [2.0]}, "job 11: its submit_time is before the present time"),
        ({"job_id": [11, 11], "submit_time": [20.0, 30.0]}, "job 11: the job arrives twice"),
        ({"job_id": [11], "submit_time": [float("nan")]}, "submit_time = nan in row 0"),
        ({"job_id": [11], "submit_time": [20.0], "tasks": [0]}, "tasks = 0 in row 0"),
        ({"job_id": ["x"], "submit_time": [20.0]}, "'job_id' has a value that is no number"),
    ],
)
def test_wrong_arrivals(arrivals: object, message: str) -> None:
    """The error names the place, the value and the rule."""
    given: Any = arrivals
    with pytest.raises(bl.SimulationError, match=message):
        under_way().fork(arrivals=given)


def test_what_has_no_other_run_times() -> None:
    """Rates serve jobs by their work, and a clairvoyant scheduler knows the true run times."""

    class Seer(Easy):
        clairvoyant = True

    with pytest.raises(bl.SimulationError, match="Seer is clairvoyant"):
        under_way(Seer()).fork(run_times={12: 40.0})
    with pytest.raises(bl.SimulationError, match="leave run_times out"):
        under_way(options=bl.RunOptions(control=bl.ConstantRate(1.0))).fork(run_times={12: 40.0})


def test_what_cannot_arrive_again() -> None:
    """Dependencies are met once, and sizes may stand in priorities."""
    table = {"job_id": [11], "submit_time": [20.0], "tasks": [2]}
    workload = bl.Workload.from_table(JOBS | {"begin_time": [0.0, 0.0, 0.0, 60.0]})
    simulation = bl.Simulation(workload, SYSTEM, "easy")
    simulation.run_until(10)
    with pytest.raises(bl.SimulationError, match="dependencies, begin times or limits of arrays"):
        simulation.fork(arrivals=table)
    with pytest.raises(bl.SimulationError, match="use values of its size"):
        under_way("easy(order=sjf_node_hours)").fork(arrivals=table)
