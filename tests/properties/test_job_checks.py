"""Which jobs are rejected at submission: those that fit on no empty nodes, beyond the total, or none."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.errors import SimulationError
from support.schedule_cases import grouped, random_case
from support.schedule_runs import differences, readable

if TYPE_CHECKING:
    from batchlab.core.vocabulary import JobCheck

CASES = 150


@pytest.mark.parametrize("check", ["total", "none"])
def test_every_check_under_every_rule(check: JobCheck) -> None:
    """The kernel gives the schedules of the reference; some jobs wait for ever."""
    waiting = 0
    for number in range(CASES):
        random = Random(number)  # noqa: S311  # no secret
        case = replace(random_case(random), options={"job_check": check})
        if number % 2:
            case = grouped(case, random)
        found = differences(case)
        assert not found, "\n".join([readable(case), *found])
        waiting += any(outcome.state == "queued" for outcome in case.expected())
    assert waiting > CASES // 20


@pytest.mark.parametrize(
    ("check", "states"),
    [
        ("nodes", ["rejected", "rejected", "completed"]),
        ("total", ["queued", "rejected", "completed"]),
        ("none", ["queued", "queued", "completed"]),
    ],
)
@pytest.mark.parametrize("backfill", ["first_fit", "easy", "conservative"])
def test_states(check: JobCheck, states: list[str], backfill: str) -> None:
    """Three cores on one of two nodes never fit, though there are four; five are beyond the total."""
    table = {"submit_time": [0, 0, 1], "run_time": [9, 9, 9], "tasks": [1, 1, 1], "core": [3, 5, 2]}
    system = bl.System.homogeneous(nodes=2, resources={"core": 2})
    policy = f"{backfill}(order=fcfs)" if backfill != "first_fit" else "fcfs(backfill=first_fit)"
    result = bl.simulate(bl.Workload.from_table(table), system, policy, job_check=check)
    assert result.jobs["state"].to_list() == states
    assert result.options.unusual == ({} if check == "nodes" else {"job_check": check})


def test_unknown_checks_are_refused() -> None:
    """With those that there are."""
    with pytest.raises(SimulationError, match="job_check = 'all'; must be 'nodes', 'total' or 'none'"):
        bl.RunOptions(job_check="all")  # type: ignore[arg-type]  # on purpose
