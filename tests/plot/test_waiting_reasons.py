"""The plot of why jobs wait."""

import numpy as np
import pytest

import batchlab as bl

JOBS = bl.Workload.from_table(
    {"submit_time": [0, 0, 0], "run_time": [100, 100, 100], "tasks": [2, 2, 2], "user": ["a", "b", "b"]}
)
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})


def test_areas_are_waiting_times() -> None:
    """The area of a reason is how long jobs waited for it."""
    result = bl.simulate(JOBS, SYSTEM, "easy", reasons=True)
    ax = bl.plot.waiting_reasons(result, title="Why jobs wait")
    areas = {}
    for stairs in ax.patches:
        values, edges, below = stairs.get_data()  # type: ignore[attr-defined]
        areas[stairs.get_label()] = float(((values - below) * np.diff(edges)).sum())
    # One waits first in line for 200 s in all, the other behind it for 100 s.
    assert areas == pytest.approx({"resources": 200.0, "priority": 100.0})
    assert ax.get_title(loc="left") == "Why jobs wait"


def test_nothing_waits() -> None:
    """Then it says so."""
    few = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})
    ax = bl.plot.waiting_reasons(bl.simulate(few, SYSTEM, "fcfs", reasons=True))
    assert [text.get_text() for text in ax.texts] == ["no job waited"]


def test_not_recorded() -> None:
    """Reasons that were not recorded are an error that says how to record them."""
    with pytest.raises(bl.ResultError, match="reasons=True"):
        bl.plot.waiting_reasons(bl.simulate(JOBS, SYSTEM, "fcfs"))
