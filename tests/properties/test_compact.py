"""The kernel gives the schedule of the reference where nodes are chosen by their places in networks (S22)."""

import os
from collections import Counter

import pytest

from support.mapping_cases import connected, varied
from support.schedule_cases import BACKFILLS, Case
from support.schedule_runs import fail_if_different

CASES = 600
CHUNKS = 8
# Longer queues are tested by properties/test_long_queues.py, and in the campaign.
MOST_JOBS = 25
# So many cases show that a combination is tested.
ENOUGH = 20
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_compact.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def case_of(number: int) -> Case:
    """Make a case: each rule of backfilling in turn, on all kinds of machines, with all kinds of events."""
    return connected(*varied(number))


def sample_of(number: int) -> Case:
    """Make a case as it is tested every time; those of the campaign are whole."""
    return connected(*varied(number, most=MOST_JOBS if number < CASES else None))


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
    """Each rule on each kind of network, under each way of backfilling; and jobs without a box."""
    found = Counter[str]()
    for number in range(CASES):
        case = sample_of(number)
        network = case.machine.network
        assert network is not None
        rule = case.allocator.partition("(")[0]
        found.update((f"{rule} on {network.kind}", case.backfill, f"{rule} with {case.backfill}"))
        found["by diameter"] += "by=diameter" in case.allocator
        if rule == "sub_torus" and found["no box"] <= ENOUGH:
            found["no box"] += any(each.state == "rejected" for each in case.expected())
    kinds = ("torus", "tree", "dragonfly")
    names = [f"{rule} on {kind}" for rule in ("compact", "hop_bytes", "fewest_groups") for kind in kinds]
    together = [f"{rule} with {each}" for rule in ("compact", "sub_torus") for each in BACKFILLS]
    others = ("sub_torus on torus", "by diameter", "no box")
    assert min(found[name] for name in (*names, *BACKFILLS, *others)) > ENOUGH
    assert min(found[name] for name in together) > 5
