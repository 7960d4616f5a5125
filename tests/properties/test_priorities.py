"""The kernel gives the schedules of the reference under the multifactor priority, with accounts."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from reference import Job, Multifactor, preemption
from reference.preemption import victims
from reference.state import Running, State
from support.combinations import UNSEEN, Combinations, until_enough
from support.preemption_cases import preempting
from support.priority_cases import prioritised, scored
from support.queue_cases import limited
from support.schedule_cases import BACKFILLS, Case

CASES = 720
CHUNKS = 12
# Longer queues are slow in the reference.
SHORT = 25
ENOUGH = 5
KINDS = ("age", "association", "fair_share", "job_size", "partition", "qos", "period")
# A period so long that priorities are calculated once.
NEVER = 1e9
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_priorities.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def ordered(case: Case, rng: Random) -> Case:
    """Order the jobs by priorities, some of the time by scores; often with preemption and limits."""
    case = scored(case, rng) if rng.random() < 0.1 else prioritised(case, rng)
    case = preempting(case, rng) if rng.random() < 0.3 else case
    return limited(case, rng) if rng.random() < 0.4 else case


PRIORITISED = Combinations(ordered)


def changed(rule: Multifactor, name: str, value: float) -> Multifactor:
    """Give the same priority with another weight of a factor, or another period."""
    change: dict[str, Any] = {name: value}
    return replace(rule, **change)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        PRIORITISED.check(number)


def test_policies_written_in_python() -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(60):
        PRIORITISED.check_in_python(number)


def test_coverage() -> None:
    """Each factor decides about starts, and so do calculations; fair share does under every rule."""
    seen: Counter[tuple[str, str]] = Counter()

    def is_enough() -> bool:
        of_kinds = min(sum(seen[name, kind] for name in BACKFILLS) for kind in KINDS)
        return of_kinds >= ENOUGH and min(seen[name, "fair_share"] for name in BACKFILLS) >= 3

    for number in until_enough(range(CASES), is_enough):
        case = PRIORITISED.sample(number)
        rule = case.order_argument
        if not isinstance(rule, Multifactor) or len(case.jobs) > SHORT:
            continue
        wanted = [name for name in KINDS if getattr(rule, name) and seen[case.backfill, name] < ENOUGH]
        whole = case.expected() if wanted else []
        for name in wanted:
            other = changed(rule, name, NEVER if name == "period" else 0.0)
            seen[case.backfill, name] += replace(case, order_argument=other).expected() != whole
    assert is_enough(), seen


def test_coverage_of_preemption_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs ordered by the multifactor priority fall for others, and wait for limits."""
    seen: Counter[tuple[str, str]] = Counter()

    def counted(state: State, job: Job, candidates: Sequence[Running]) -> list[Running]:
        found = victims(state, job, candidates)
        seen[case.backfill, "preempted"] += len(found)
        return found

    monkeypatch.setattr(preemption, "victims", counted)
    preempting_rules = [name for name in BACKFILLS if name != "conservative"]

    def is_enough() -> bool:
        preempted = min(seen[name, "preempted"] for name in preempting_rules)
        return preempted >= 10 and min(seen[name, "limited"] for name in BACKFILLS) > 3

    for number in until_enough(range(CASES), is_enough):
        case = PRIORITISED.sample(number)
        if not isinstance(case.order_argument, Multifactor) or len(case.jobs) > SHORT:
            continue
        if case.machine.preemption is not None:
            case.expected()
        if case.machine.limits and case.machine.preemption is None:
            unlimited = replace(case, machine=replace(case.machine, limits=()))
            seen[case.backfill, "limited"] += unlimited.expected() != case.expected()
    assert is_enough(), seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(UNSEEN + begin, UNSEEN + min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        PRIORITISED.check(number)
