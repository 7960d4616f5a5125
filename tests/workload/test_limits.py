"""Limits by hand: what waits, what is rejected, and what a scheduler outside may do."""

from dataclasses import replace

import pytest

import batchlab as bl

JOBS = bl.Workload.from_table(
    {
        "job_id": [1, 2, 3, 4],
        "submit_time": [0, 0, 0, 0],
        "run_time": [60, 60, 60, 60],
        "tasks": [2, 2, 2, 2],
        "user": ["ann", "ann", "ben", "ann"],
    }
)


def system(*limits: bl.Limit) -> bl.System:
    """Give eight processors on four nodes."""
    return bl.System.homogeneous(nodes=4, resources={"core": 2}, limits=limits)


def starts(workload: bl.Workload, machine: bl.System, policy: str) -> list[float | None]:
    """Give the start of each job."""
    return bl.simulate(workload, machine, policy).jobs["start_time"].to_list()


@pytest.mark.parametrize("policy", ["fcfs", "first_fit", "easy", "easy(reservations=2)", "conservative"])
@pytest.mark.parametrize(
    "limit",
    [
        bl.Limit("jobs", per=("user",), running_jobs=1),
        bl.Limit("nodes", per=("user",), nodes=1),
        bl.Limit("cores", per=("user",), resources={"core": 3}),
    ],
)
def test_others_pass(limit: bl.Limit, policy: str) -> None:
    """A job that waits for a limit holds up no other."""
    assert starts(JOBS, system(limit), policy) == [0, 60, 0, 120]


LONG = bl.Workload.from_table(
    {
        "submit_time": [0, 0, 0, 60, 240],
        "run_time": [60, 300, 60, 60, 60],
        "requested_time": [600, 300, 300, 60, 60],
        "tasks": [2, 2, 2, 2, 2],
        "user": ["ann", "ann", "ann", "ben", "ann"],
    }
)


@pytest.mark.parametrize("policy", ["fcfs", "first_fit", "easy", "easy(reservations=2)", "conservative"])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        # Ann's first two jobs may use 20 + 10 minutes. The first ends at 60, and leaves 22 to the third.
        (bl.Limit("RunMinutes", per=("user",), running_minutes={"core": 30}), [0, 0, 60, 60, 240]),
        # The second may use 10, at 60 still 8, at 240 still 2, which leaves 10 to the third alone.
        (bl.Limit("RunMinutes", running_minutes={"core": 12}), [None, 0, 240, 60, 300]),
        # The first has used 2, the second 10, and the third would 10: it never starts. The last needs 2.
        (bl.Limit("Minutes", per=("user",), total_minutes={"core": 30}), [0, 0, 60, 60, 240]),
        (bl.Limit("Minutes", per=("user",), total_minutes={"core": 20}), [0, 60, None, 60, 240]),
        (bl.Limit("Wall", per=("user",), time=300), [None, 0, 0, 60, 240]),
    ],
)
def test_minutes(limit: bl.Limit, expected: list[float | None], policy: str) -> None:
    """What running jobs may still use falls with time; what was used stays; longer jobs are rejected."""
    assert starts(LONG, system(limit), policy) == expected


@pytest.mark.parametrize("policy", ["fcfs", "first_fit", "easy", "easy(reservations=2)"])
def test_blocking(policy: str) -> None:
    """Where the limit blocks, it holds up those behind it."""
    limit = bl.Limit("jobs", per=("user",), running_jobs=1, blocks=True)
    assert starts(JOBS, system(limit), policy) == [0, 60, 60, 120]


def test_all_together() -> None:
    """Without owners all jobs that a limit applies to are counted together."""
    limit = bl.Limit("ann's", applies_to=bl.Conditions(users=("ann",)), running_jobs=2)
    assert starts(JOBS, system(limit), "fcfs") == [0, 0, 0, 60]


def test_submissions() -> None:
    """A job too many is rejected, also while the others wait; later ones are not."""
    limit = bl.Limit("submitted", per=("user",), submitted_jobs=2)
    result = bl.simulate(JOBS, system(limit), "fcfs")
    assert result.jobs["reason"].to_list() == [None, None, None, "limit"]
    assert "limit" in result.summary()


def test_a_scheduler_outside() -> None:
    """It cannot start a job over a limit, wherever it puts it."""
    simulation = bl.Simulation(JOBS, system(bl.Limit("jobs", running_jobs=1)), bl.ExternalScheduler())
    point = next(iter(simulation.decision_points()))
    first, second, *_ = point.view.queue
    assert point.view.over_limit(second) is None
    assert point.view.start(first)
    assert point.view.over_limit(second) == "jobs"
    assert point.view.over_limit(first) is None, "it does not wait"
    assert not point.view.start(second)
    with pytest.raises(bl.DecisionError, match=r"beyond limits\[0\]"):
        point.view.start(second, nodes={3: 2})


def test_moldable_jobs_start_within_their_limits() -> None:
    """Ann's first job has three of eight processors; three are for her second in this pass, two for Ben's."""
    work = bl.tasks.Compute(flops=24e9, computation_pattern="all_ranks")
    jobs = [
        bl.JobDescription(
            application=bl.Application([bl.Phase([work])]),
            job_type="moldable",
            tasks=1,
            tasks_min=1,
            tasks_max=8,
            user=user,
            others={"exclusive": False},
        )
        for user in ("ann", "ann", "ben")
    ]
    platform = bl.Platform.crossbar(4, cores=2, speed="1Gf", bandwidth="1GBps", latency=0)
    limit = bl.Limit("cores", applies_to=bl.Conditions(users=("ann",)), resources={"core": 3})
    machine = replace(bl.System.of(platform), limits=(limit,))
    result = bl.simulate(bl.Workload.from_jobs(jobs), machine, "malleable")
    assert result.jobs.select("start_time", "allocated_core").rows() == [(0, 3), (8, 3), (0, 2)]


def test_forks_have_their_own_counts() -> None:
    """What a fork starts does not count in the original."""
    simulation = bl.Simulation(JOBS, system(bl.Limit("jobs", per=("user",), running_jobs=1)), "fcfs")
    simulation.step()
    fork = simulation.fork()
    fork.run_until()
    assert fork.result().jobs["start_time"].to_list() == [0, 60, 0, 120]
    simulation.run_until()
    assert simulation.result().jobs["start_time"].to_list() == [0, 60, 0, 120]
