"""The kernel gives the schedule of the reference where nodes are taken in an order of their own (S22)."""

import os
from collections import Counter

import pytest

from support.combinations import until_enough
from support.mapping_cases import mapped, varied
from support.schedule_cases import BACKFILLS, Case
from support.schedule_runs import fail_if_different

CASES = 480
CHUNKS = 8
# Longer queues are tested by properties/test_long_queues.py, and in the campaign.
MOST_JOBS = 25
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_mappings.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def case_of(number: int) -> Case:
    """Make a case: each rule of backfilling in turn, on all kinds of machines, with all kinds of events."""
    return mapped(*varied(number))


def sample_of(number: int) -> Case:
    """Make a case as it is tested every time; those of the campaign are whole."""
    return mapped(*varied(number, most=MOST_JOBS if number < CASES else None))


def check(number: int) -> None:
    """Fail with the smallest case that differs."""
    fail_if_different(f"case {number}", sample_of(number))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and their order are equal for every job."""
    for number in range(chunk, CASES, CHUNKS):
        check(number)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(CASES, CASES + CAMPAIGN, CAMPAIGN_CHUNK))
def test_more_cases(begin: int) -> None:
    """The same in many more cases."""
    for number in range(begin, begin + CAMPAIGN_CHUNK):
        check(number)


def test_cases_have_what_they_are_for() -> None:
    """Each rule, each way of backfilling, and jobs whose nodes do not stand by index."""
    found = Counter[str]()
    names = ("first_fit", "contiguous", "round_robin", "dual_end", "blocks", *BACKFILLS)

    def is_enough() -> bool:
        return min(found[name] for name in (*names, "blocks of the machine", "by nodes", "out of order")) > 20

    for number in until_enough(range(CASES), is_enough):
        case = sample_of(number)
        found[case.allocator.partition("(")[0]] += 1
        found[case.backfill] += 1
        found["blocks of the machine"] += "of=machine" in case.allocator
        found["by nodes"] += "by=nodes" in case.allocator
        placements = [outcome.placement for outcome in case.expected()] if number % 4 == 0 else []
        found["out of order"] += any(nodes != sorted(nodes) for nodes in placements)
    assert is_enough(), found
