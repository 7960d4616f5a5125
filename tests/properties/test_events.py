"""The kernel gives the schedules of the reference with overheads and external events."""

import os
from collections import Counter
from random import Random

import pytest

from support.combinations import Combinations
from support.event_cases import KINDS, MACHINE_KINDS, delayed, eventful
from support.preemption_cases import preempting
from support.priority_cases import prioritised
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import BACKFILLS, Case
from support.schedule_runs import applied_of, result_of

CASES = 1008
CHUNKS = 12
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_events.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Give jobs overheads, events, or both, on all kinds of machines."""
    if rng.random() < 0.2:
        case = prioritised(case, rng)
    elif rng.random() < 0.5:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.5 else case
        case = reserved(case, rng) if rng.random() < 0.4 else case
    case = delayed(case, rng) if rng.random() < 0.6 else case
    return eventful(case, rng) if case.overheads is None or rng.random() < 0.7 else case


EVENTFUL = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        EVENTFUL.check(number)


def test_policies_written_in_python() -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(60):
        EVENTFUL.check_in_python(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        EVENTFUL.check(number)


def test_coverage() -> None:
    """Every kind of event applies, and fails to apply, under every rule."""
    seen: Counter[tuple[str, str, bool]] = Counter()
    for number in range(0, CASES, 2):
        case = EVENTFUL.case(number)
        if not case.events:
            continue
        # The check of each case compares the flags with those of the reference.
        flags = applied_of(case, result_of(case))
        seen.update((case.backfill, event.kind, flag) for event, flag in zip(case.events, flags, strict=True))
    for kind in (*KINDS, *MACHINE_KINDS):
        for applied in (True, False):
            assert all(seen[rule, kind, applied] for rule in BACKFILLS), (kind, applied)
