"""The kernel gives the schedules of the reference where jobs may use the nodes of some groups only."""

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import batchlab as bl
from support.python_policies import ALLOCATORS as PYTHON_ALLOCATORS
from support.python_policies import SCHEDULERS
from support.schedule_cases import (
    ALLOCATORS,
    BACKFILLS,
    FORMULAS,
    ORDERS,
    Case,
    conditioned,
    disturbed,
    grouped,
    random_case,
)
from support.schedule_runs import differences, readable, shrunk

COMBINATIONS = [*product(ORDERS, BACKFILLS, ALLOCATORS)]
CASES = 3 * len(COMBINATIONS)
CHUNKS = 12
SHORT = 25
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_node_groups.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def numbered_case(number: int) -> Case:
    """Give a case; every 360 in a row go through all combinations, every third one with node events."""
    rng = random.Random(number)  # noqa: S311 - no secret
    order, backfill, allocator = COMBINATIONS[number % len(COMBINATIONS)]
    argument: dict[str, int | str] = {
        "random": rng.choice((0, 7, 2**64 - 1)),
        "expression": rng.choice(list(FORMULAS)),
    }
    case = replace(
        random_case(rng, large=0.05),
        order=order,
        order_argument=argument.get(order),
        backfill=backfill,
        allocator=allocator,
        reservations=rng.choice((1, 1, 1, 2, 3, 4)) if backfill == "easy" else 1,
    )
    if backfill == "conservative":
        # The reference takes O(q³) for a long queue.
        case = replace(case, jobs=case.jobs[:80])
    case = grouped(case, rng)
    case = conditioned(case, rng) if number % 2 else case
    return disturbed(case, rng) if number % 3 == 0 else case


def check(case: Case, name: str, policy: bl.Policy | None = None) -> None:
    """Fail with the smallest case found that still differs."""
    if differences(case, policy):
        smallest = shrunk(case, lambda smaller: bool(differences(smaller, policy)))
        lines = [f"{name}: {policy}", readable(smallest), *differences(smallest, policy)]
        pytest.fail("\n".join(lines), pytrace=False)


def check_in_python(number: int) -> None:
    """Check a case whose rule and allocator are written in Python as well."""
    # The names of a case are those that the reference knows.
    case: Any = numbered_case(number)
    if case.backfill in SCHEDULERS:
        scheduler = SCHEDULERS[case.backfill](case.reservations)
        policy = bl.Policy(case.order_text, allocator=case.allocator, scheduler=scheduler)
        check(case, f"numbered_case({number})", policy)
    if case.backfill == "conservative" and len(case.jobs) > SHORT:
        return  # The reference is slow there.
    name, kinds = [*PYTHON_ALLOCATORS.items()][number % len(PYTHON_ALLOCATORS)]
    case = replace(case, allocator=name)
    for kind in kinds:
        policy = bl.Policy(case.order_text, case.backfill, kind(), case.reservations)
        check(case, f"numbered_case({number}) with {name}", policy)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        check(numbered_case(number), f"numbered_case({number})")


@pytest.mark.parametrize("chunk", range(6))
def test_policies_written_in_python(chunk: int) -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(chunk, 240, 6):
        check_in_python(number)


def test_coverage() -> None:
    """Bound and free jobs run under every rule, sets overlap, and some jobs fit anywhere but in their set."""
    bound: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    overlapping = 0
    for number in range(0, CASES, 4):
        case = numbered_case(number)
        outcomes = case.expected()
        anywhere = replace(case, jobs=tuple(replace(job, node_groups=()) for job in case.jobs)).expected()
        bound[case.backfill] += sum(bool(job.node_groups) for job in case.jobs)
        rejected[case.backfill] += sum(
            here.state == "rejected" != there.state for here, there in zip(outcomes, anywhere, strict=True)
        )
        sets = {frozenset(job.node_groups) for job in case.jobs}
        overlapping += any(
            one & other and not (one <= other or other <= one) for one in sets for other in sets
        )
    assert min(bound[name] for name in BACKFILLS) > 200
    assert min(rejected[name] for name in BACKFILLS) > 20
    assert overlapping > 20


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen, one in ten of them with policies written in Python."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check(numbered_case(1_000_000 + number), f"numbered_case({1_000_000 + number})")
        if number % 10 == 0:
            check_in_python(1_000_000 + number)
