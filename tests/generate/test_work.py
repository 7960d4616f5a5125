"""The work of jobs."""

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError


def test_work_by_hand() -> None:
    """Run time × tasks × Σ amount × performance; memory computes nothing."""
    table = {
        "submit_time": [0, 0],
        "run_time": [10, 20],
        "tasks": [2, 3],
        "core": [4, 1],
        "gpu": [1, 0],
        "mem": [9, 9],
    }
    workload = bl.Workload.from_table(table)
    assert bl.generate.gflops(workload, {"core": 1.5, "gpu": 100}).tolist() == [10 * 2 * 106, 20 * 3 * 1.5]


def test_processors_are_cores_unless_told() -> None:
    """A workload without resources asks for processors."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [2]})
    assert bl.generate.gflops(workload, {"core": 2}).tolist() == [40]
    assert bl.generate.gflops(
        workload, {"core": 2, "gpu": 5}, equivalence={"core": 1, "gpu": 1}
    ).tolist() == [140]


@pytest.mark.parametrize(
    ("performance", "said"),
    [
        ({}, "must map resources"),
        ({"gpu": 1}, "must name a resource that"),
        ({"core": -1}, "from 0 to 10"),
        ({"core": None}, "None"),
    ],
    ids=["none", "other", "negative", "no number"],
)
def test_wrong_performances_are_told(performance: dict[str, float], said: str) -> None:
    """They are numbers for resources of the jobs."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [2]})
    with pytest.raises(WorkloadError, match=said):
        bl.generate.gflops(workload, performance)
