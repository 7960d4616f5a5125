"""Jobs that are requeued, suspended and cancelled while they run: kernel and reference are equal (S18)."""

import os
from random import Random

import pytest

from support.combinations import Combinations
from support.event_cases import befallen, delayed, eventful, withdrawn
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.rate_cases import controlled
from support.schedule_cases import Case

CASES = 252
CHUNKS = 3
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_run_events.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Let things happen to jobs on all kinds of machines, with overheads, events and controlled rates."""
    if rng.random() < 0.4:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.4 else case
        case = reserved(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    case = eventful(case, rng) if rng.random() < 0.3 else case
    case = controlled(case, rng) if rng.random() < 0.2 else case
    case = withdrawn(case, rng) if rng.random() < 0.2 else case
    return befallen(case, rng)


BEFALLEN = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        BEFALLEN.check(number)


@pytest.mark.parametrize("chunk", range(4))
def test_policies_written_in_python(chunk: int) -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(chunk, 40, 4):
        BEFALLEN.check_in_python(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        BEFALLEN.check(number)
