"""Rules that keep a plan give the schedules of the reference where many jobs wait, however the plan is kept.

`BATCHLAB_CASES=20000 pytest -m campaign tests/properties/test_long_queues.py` is the campaign; a
sample runs every time.
"""

import os
from dataclasses import replace
from random import Random

import pytest

from support.dependent_cases import conditioned
from support.schedule_cases import ALLOCATORS, ORDERS, Case, random_case, random_jobs, random_machine
from support.schedule_runs import fail_if_different

SAMPLE = 72
CHUNKS = 12
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 100
# So much of a resource is planned node by node, less is in rows of all nodes.
MUCH = 10_000


def waiting_case(number: int) -> Case:
    """Give a case in which 15 to 40 jobs wait for up to ten nodes; every other one has large amounts."""
    random = Random(number)  # noqa: S311 - no secret
    plain = random.random() < 0.4
    machine = random_machine(random, nodes=random.randint(1, 10), plain=plain)
    case = replace(
        random_case(random),
        machine=machine,
        jobs=random_jobs(random, machine, random.randint(15, 40), plain=plain),
        order=random.choice([order for order in ORDERS if order not in ("random", "expression")]),
        order_argument=None,
        backfill=random.choice(("conservative", "conservative", "easy")),
        allocator=ALLOCATORS[number % len(ALLOCATORS)],
    )
    case = replace(case, reservations=random.randint(2, 4) if case.backfill == "easy" else 1)
    if random.random() < 0.2:
        case = conditioned(case, random)
    return multiplied(case, MUCH) if number % 2 else case


def multiplied(case: Case, factor: int) -> Case:
    """Give the case with so many times as much of everything on each node, and for each task."""
    machine = case.machine
    capacity = [tuple(amount * factor for amount in node) for node in machine.capacity]
    jobs = tuple(replace(job, request=tuple(amount * factor for amount in job.request)) for job in case.jobs)
    return replace(case, jobs=jobs, machine=replace(machine, capacity=capacity))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_long_queues(chunk: int) -> None:
    """State, start, end and the tasks on each node are equal for every job of every case."""
    for number in range(chunk, SAMPLE, CHUNKS):
        fail_if_different(f"waiting_case({number})", waiting_case(number))


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """The same for cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        fail_if_different(f"waiting_case({1_000_000 + number})", waiting_case(1_000_000 + number))
