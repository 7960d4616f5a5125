"""The kernel gives the schedules of the reference where jobs have overheads."""

import os
from random import Random

import pytest

from support.combinations import Combinations
from support.event_cases import delayed
from support.preemption_cases import preempting
from support.priority_cases import prioritised
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import Case

CASES = 1008
CHUNKS = 12
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_events.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Give jobs overheads, on all kinds of machines."""
    if rng.random() < 0.2:
        case = prioritised(case, rng)
    elif rng.random() < 0.5:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.5 else case
        case = reserved(case, rng) if rng.random() < 0.3 else case
    return delayed(case, rng)


DELAYED = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        DELAYED.check(number)


def test_policies_written_in_python() -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(60):
        DELAYED.check_in_python(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        DELAYED.check(number)
