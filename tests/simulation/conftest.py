"""A machine of two processors, and four jobs on it that can be followed by hand."""

import pytest

import batchlab as bl


@pytest.fixture
def pair() -> bl.System:
    """Two nodes of one core."""
    return bl.System.homogeneous(nodes=2, resources={"core": 1})


@pytest.fixture
def four() -> bl.Workload:
    """Job 1 takes both nodes over [0, 10), job 2 waits for one of them, job 3 for both and takes no time."""
    return bl.Workload.from_table(
        {
            "submit_time": [0, 0, 5, 10],
            "run_time": [10, 10, 0, 1],
            "tasks": [2, 1, 2, 1],
            "priority": [4, 3, 1, 2],
            "user": ["ada", "bob", "ada", "bob"],
        }
    )
