"""The plots of who had the machine while a job waited, and of what all waiting was for."""

import numpy as np
import pytest
from matplotlib.axes import Axes

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


def areas_of(ax: Axes) -> dict[object, float]:
    """Measure the area of each colour."""
    areas = {}
    for stairs in ax.patches:
        values, edges, below = stairs.get_data()  # type: ignore[attr-defined]
        areas[stairs.get_label()] = float(((values - below) * np.diff(edges)).sum())
    return areas


def test_areas_are_the_parts_of_the_wait() -> None:
    """The area of a colour is what a holder had, in core seconds."""
    result = bl.simulate(JOBS, SYSTEM, "easy")
    ax = bl.plot.why(result, job=3, title="Job 3")
    areas = areas_of(ax)
    assert areas == pytest.approx(
        {
            "already running": 120,
            "submitted before it": 200,
            "overtook it": 70,
            "idle, enough in total": 130,
        }
    )
    assert ax.get_ylabel() == "core while job 3 waited"
    assert bl.plot.why(result).get_ylabel() == "core while job 3 waited"


def test_no_job_waits() -> None:
    """Then it says so."""
    result = bl.simulate(JOBS.head(1), SYSTEM, "easy")
    assert [text.get_text() for text in bl.plot.why(result).texts] == ["no job waited"]
    assert [text.get_text() for text in bl.plot.why(result, job=1).texts] == ["job 1 did not wait"]


def test_all_waiting() -> None:
    """The area of a colour is the time that jobs waited for a cause, or that a group of jobs waited."""
    result = bl.simulate(JOBS, SYSTEM, "easy", explain=True)
    holders = {"already running": 67.5, "submitted before it": 50, "overtook it": 35, "idle": 67.5}
    assert areas_of(bl.plot.waiting_time(result)) == pytest.approx(holders)
    gates = {"resources, earlier": 50 + 50, "resources, overtakers": 40 + 30, "would delay": 50}
    assert areas_of(bl.plot.waiting_time(result, of="gates")) == pytest.approx(gates)
    sizes = {"up to 1 task": 130, "up to 4 tasks": 90}
    assert areas_of(bl.plot.waiting_time(result, by="size")) == pytest.approx(sizes)
    alone = bl.simulate(JOBS.head(1), SYSTEM, "easy")
    assert [text.get_text() for text in bl.plot.waiting_time(alone).texts] == ["no job waited"]


def test_many_groups() -> None:
    """Of many groups those that waited longest are shown, and the others together."""
    jobs = {"submit_time": [0] * 15, "run_time": [10] * 15, "tasks": [4] * 15, "user": [*"abcdefghijklmno"]}
    result = bl.simulate(bl.Workload.from_table(jobs), SYSTEM, "fcfs")
    areas = areas_of(bl.plot.waiting_time(result, by="user"))
    assert len(areas) == 12
    assert (areas["user o"], areas["others"]) == pytest.approx((140, 10 + 20 + 30))
