"""Controls of node groups, several in one run."""

import re
from collections.abc import Mapping, Sequence

import pytest

import batchlab as bl
from batchlab.errors import SimulationError

SYSTEM = bl.System(
    tuple(bl.NodeGroup(name, count=2, resources={"core": 2}) for name in ("cpu", "fat", "old"))
)


def run(jobs: Mapping[str, Sequence[object]], *controls: str) -> bl.Result:
    return bl.simulate(bl.Workload.from_table(jobs), SYSTEM, "fcfs", control=controls, key_events=True)


def test_each_job_at_the_rate_of_its_nodes() -> None:
    """One for each group, one without a control among them."""
    jobs = {"submit_time": [0, 0, 0], "run_time": [12, 12, 12], "tasks": [4, 4, 4]}
    result = run(
        {**jobs, "node_group": ["cpu", "fat", "old"]},
        "constant(2, groups=['cpu'])",
        "constant(4, groups=['fat'])",
    )
    assert result.jobs["end_time"].to_list() == [6.0, 3.0, 12.0]


@pytest.mark.parametrize(("tasks", "end"), [(4, 3.0), (8, 6.0), (12, 12.0)])
def test_a_job_on_several_groups_is_served_at_the_slowest(tasks: int, end: float) -> None:
    """Nodes without a control have rate 1."""
    jobs = {"submit_time": [0], "run_time": [12], "tasks": [tasks]}
    controls = ("constant(4, groups=['cpu'])", "constant(2, groups=['fat'])")
    assert run(jobs, *controls).jobs["end_time"].to_list() == [end]


def test_a_switch_of_one_group_leaves_the_others() -> None:
    """The wide job goes at the rate of the slower group until that one is faster too."""
    jobs = {"submit_time": [0, 0, 4], "run_time": [12, 24, 100], "tasks": [8, 4, 1]}
    controls = ("constant(4, groups=['cpu'])", "count(2, 2, rates=[1, 2], groups=['fat'])")
    result = run({**jobs, "node_group": ["cpu|fat", "old", "old"]}, *controls)
    # 4 units by time 4, then 8 at rate 2, since three jobs are there.
    assert result.jobs["end_time"].to_list()[:2] == [8.0, 24.0]
    assert result.rates.rows() == [(0.0, 0, 4.0), (0.0, 1, 1.0), (4.0, 1, 2.0), (8.0, 1, 1.0)]


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        (["constant(2, groups=['gpu'])"], "groups = ('gpu',); the system has no group 'gpu'."),
        (["constant(2)", "constant(1, groups=['cpu'])"], "cpu"),
        (["constant(2, groups=['cpu', 'fat'])", "constant(1, groups=['fat'])"], "fat"),
    ],
)
def test_errors(controls: list[str], message: str) -> None:
    """Groups must be there, and no node may have two controls."""
    with pytest.raises(SimulationError, match=f"^control.*{re.escape(message)}") as caught:
        run({"submit_time": [0], "run_time": [1], "tasks": [1]}, *controls)
    assert "\n" not in str(caught.value)
