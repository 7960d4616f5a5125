"""The kernel gives the schedules and power states of the reference where nodes sleep (S21)."""

import os
from collections import Counter
from random import Random

import pytest

from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.priority_cases import prioritised
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import BACKFILLS, Case, disturbed, random_case
from support.schedule_runs import fail_if_different
from support.sleep_cases import sleeping, sleeping_differences

CASES = 240
CHUNKS = 4
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_sleep.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def case_of(number: int) -> Case:
    """Make a case: each rule of backfilling in turn, on all kinds of machines, with all kinds of events."""
    rng = Random(number)  # noqa: S311 - no secret
    case = random_case(rng)
    while case.backfill != BACKFILLS[number % len(BACKFILLS)]:
        case = random_case(rng)
    if rng.random() < 0.1:
        case = prioritised(case, rng)
    elif rng.random() < 0.4:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.5 else case
        case = reserved(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    if rng.random() < 0.3:
        case = eventful(case, rng)
    elif rng.random() < 0.3:
        case = disturbed(case, rng)
    return sleeping(case, rng)


def check(number: int) -> None:
    """Fail with the smallest case that differs."""
    fail_if_different(f"case {number}", case_of(number), sleeping_differences)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end and nodes of every job are equal, and so is what every node was when."""
    for number in range(chunk, CASES, CHUNKS):
        check(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        check(number)


def test_coverage() -> None:
    """Under every rule nodes enter states and wake from them, and jobs wait for that."""
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(CASES // 2):
        case = case_of(number)
        states: list[tuple[int, str, float, float]] = []
        ready: dict[int, float] = {}
        outcomes = case.expected(power_states=states, launched=ready)
        seen.update((case.backfill, label.split(" ")[0]) for _, label, _, _ in states)
        boots = [row for row, on in ready.items() if on > (outcomes[row].start_time or on)]
        seen[case.backfill, "boots"] += len(boots)
        assert case.sleep is not None
        seen[case.backfill, case.sleep.wake] += 1
        seen[case.backfill, "daily" if case.sleep.daily else "steps" if case.sleep.keep else "none"] += 1
    for rule in BACKFILLS:
        for what in ("on", "entering", "off", "waking", "boots", "job", "queue", "daily", "steps", "none"):
            assert seen[rule, what] >= 2, (rule, what, seen[rule, what])
