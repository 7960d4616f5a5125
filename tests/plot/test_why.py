"""The plot of who had the machine while a job waited."""

import numpy as np
import pytest

import batchlab as bl

JOBS = bl.Workload.from_table(
    {
        "submit_time": [0, 10, 20, 30],
        "run_time": [60, 50, 30, 70],
        "requested_time": [100, 50, 100, 70],
        "tasks": [3, 4, 1, 1],
    }
)
SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 4})


def test_areas_are_the_parts_of_the_wait() -> None:
    """The area of a colour is what a holder had, in core seconds."""
    result = bl.simulate(JOBS, SYSTEM, "easy")
    ax = bl.plot.why(result, job=3, title="Job 3")
    areas = {}
    for stairs in ax.patches:
        values, edges, below = stairs.get_data()  # type: ignore[attr-defined]
        areas[stairs.get_label()] = float(((values - below) * np.diff(edges)).sum())
    assert areas == pytest.approx(
        {
            "running when it came": 120,
            "submitted before it": 200,
            "overtook it": 70,
            "idle, enough for it": 130,
        }
    )
    assert ax.get_ylabel() == "core while job 3 waited"
    assert bl.plot.why(result).get_ylabel() == "core while job 3 waited"


def test_no_job_waits() -> None:
    """Then it says so; a job that did not wait is an error."""
    result = bl.simulate(JOBS.head(1), SYSTEM, "easy")
    assert [text.get_text() for text in bl.plot.why(result).texts] == ["no job waited"]
    with pytest.raises(bl.ResultError, match="job 1 did not wait"):
        bl.plot.why(result, job=1)
