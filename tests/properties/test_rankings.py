"""Best and worst fit by the sum of what is free: the kernel gives the schedules of the reference."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from support.combinations import until_enough
from support.queue_cases import queued
from support.schedule_cases import BACKFILLS, Case, disturbed, grouped, random_case
from support.schedule_runs import fail_if_different

RANKED = ("best_fit(by=free)", "worst_fit(by=free)")
COMBINATIONS = tuple(product(BACKFILLS, RANKED))
CASES = 600
CHUNKS = 6
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_rankings.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def ranked_case(number: int) -> Case:
    """Give a case, some with node events, node groups or partitions."""
    rng = Random(number)  # noqa: S311 - no secret
    backfill, allocator = COMBINATIONS[number % len(COMBINATIONS)]
    case = random_case(rng, plain=0.1)
    case = replace(case, backfill=backfill, allocator=allocator, reservations=1)
    case = disturbed(case, rng) if rng.random() < 0.3 else case
    case = grouped(case, rng) if rng.random() < 0.3 else case
    return queued(case, rng) if rng.random() < 0.3 else case


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end and the tasks on each node are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        fail_if_different(f"ranked_case({number})", ranked_case(number))


def test_coverage() -> None:
    """The two rankings are two things: jobs go to other nodes, and start at other times."""
    nodes = times = 0

    def is_enough() -> bool:
        return nodes > 50 and times > 20

    for number in until_enough(range(CASES), is_enough):
        case = ranked_case(number)
        by_load = replace(case, allocator=case.allocator.partition("(")[0]).expected()
        pairs = [*zip(case.expected(), by_load, strict=True)]
        nodes += any(one.placement != other.placement for one, other in pairs)
        times += any(one.start_time != other.start_time for one, other in pairs)
    assert is_enough(), (nodes, times)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        fail_if_different(f"ranked_case({1_000_000 + number})", ranked_case(1_000_000 + number))
