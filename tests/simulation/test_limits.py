"""Limits of what jobs may have at a time in simulations (S13)."""

import batchlab as bl


def test_a_job_that_blocked_comes_over_a_limit() -> None:
    """The head does not fit, then a shorter job of its user starts before it: those behind it pass it."""
    limit = bl.Limit("OnePerUser", per=("user",), running_jobs=1)
    system = bl.System.homogeneous(nodes=5, resources={"core": 1}, limits=(limit,))
    jobs = {
        "submit_time": [0.0, 1.0, 1.5, 2.0],
        "run_time": [100.0, 50.0, 60.0, 10.0],
        "requested_time": [100.0, 50.0, 60.0, 10.0],
        "tasks": [3, 3, 1, 1],
        "user": ["cyd", "ann", "ben", "ann"],
    }
    result = bl.simulate(bl.Workload.from_table(jobs), system, bl.Policy("sjf", "none"))
    assert result.jobs["start_time"].to_list() == [0.0, 100.0, 2.0, 2.0]
