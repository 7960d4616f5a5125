"""The kernel gives the schedules of the reference where rates, disciplines and sleep meet."""

import os
from random import Random

import pytest

from properties.test_rates import CONTROLLED
from support.discipline_cases import discipline_case
from support.rate_cases import controlled
from support.schedule_cases import Case
from support.schedule_runs import fail_if_different
from support.sleep_cases import sleeping, sleeping_differences

CASES = 208
CHUNKS = 4
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_mixed.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "5000"))
CAMPAIGN_CHUNK = 250


def case_of(number: int) -> Case:
    """Make a case: every second one under a discipline, with jobs that take time to be suspended in some."""
    rng = Random(f"mixed/{number}")  # noqa: S311 - no secret
    case = CONTROLLED.case(number) if number % 2 else controlled(discipline_case(number // 2), rng)
    return sleeping(case, rng)


def check(number: int) -> None:
    """Fail with the smallest case that differs."""
    fail_if_different(f"case {number}", case_of(number), sleeping_differences)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end and nodes of every job are equal, and so is what every node was when."""
    for number in range(chunk, CASES, CHUNKS):
        check(number)


def test_coverage() -> None:
    """There are controls of all nodes and of groups, disciplines, and time to suspend, where nodes sleep."""
    cases = [case_of(number) for number in range(CASES)]
    assert all(case.sleep is not None and case.controls for case in cases)
    assert sum(control.groups != () for case in cases for control in case.controls) >= 10
    overheads = [case.overheads for case in cases if case.overheads is not None]
    assert sum(any(each.suspend for each in given.of_job) for given in overheads) >= 10


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        check(number)
