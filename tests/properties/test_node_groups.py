"""The kernel gives the schedules of the reference where jobs may use the nodes of some groups only."""

import os
from collections import Counter
from dataclasses import replace

import pytest

from support.combinations import COMBINATIONS, UNSEEN, Combinations, until_enough
from support.schedule_cases import BACKFILLS, grouped

CASES = len(COMBINATIONS)
CHUNKS = 6
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_node_groups.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250
GROUPED = Combinations(grouped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        GROUPED.check(number)


@pytest.mark.parametrize("chunk", range(3))
def test_policies_written_in_python(chunk: int) -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(chunk, 120, 3):
        GROUPED.check_in_python(number)


def test_coverage() -> None:
    """Bound and free jobs run under every rule, sets overlap, and some jobs fit anywhere but in their set."""
    bound: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    overlapping = 0

    def is_enough() -> bool:
        of_rules = all(bound[name] > 200 and rejected[name] > 20 for name in BACKFILLS)
        return of_rules and overlapping > 20

    for number in until_enough(range(CASES), is_enough):
        case = GROUPED.sample(number)
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
    assert is_enough(), (bound, rejected, overlapping)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen, one in ten of them with policies written in Python."""
    for number in range(UNSEEN + begin, UNSEEN + min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        GROUPED.check(number)
        if number % 10 == 0:
            GROUPED.check_in_python(number)
