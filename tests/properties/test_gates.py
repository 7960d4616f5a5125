"""The kernel gives the gates of the reference (S15), and the gates of a job add up to its wait."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import replace
from math import fsum
from random import Random
from typing import TYPE_CHECKING

import pytest

from batchlab.core.vocabulary import GATES
from support.combinations import UNSEEN, Combinations
from support.event_cases import delayed, eventful
from support.initial_cases import begun_case, handmade_gate_differences
from support.limit_cases import with_time_limits
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import Case, grouped, seeded_cases
from support.schedule_runs import expected_gates, fail_if_different, gate_differences, rows_of
from support.sleep_cases import sleeping

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = 300
PLAIN_CASES = 80
ONE_AMOUNT = (("none", 1), ("first_fit", 1), ("easy", 1), ("easy", 3), ("conservative", 1))
BEGUN_CASES = 180
CHUNKS = 6
ENOUGH = 3
RARE = ("promised", "policy", "allocator", "before_state")
"""Gates of victims after their grace time, of states, and of policies in Python, which have no reference."""
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_gates.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Choose a rule that has gates, and make what gates are about: queues, limits, reservations, events."""
    case = replace(case, jobs=case.jobs[:40])
    case = queued(case, rng) if rng.random() < 0.5 else case
    case = preempting(case, rng) if rng.random() < 0.25 else case
    case = limited(case, rng) if rng.random() < 0.5 else case
    case = reserved(case, rng) if rng.random() < 0.4 else case
    case = grouped(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.2 else case
    case = sleeping(case, rng) if rng.random() < 0.15 else case
    case = with_time_limits(case, rng) if rng.random() < 0.3 else case
    return eventful(case, rng) if rng.random() < 0.3 else case


EXPLAINED = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_gate(chunk: int) -> None:
    """Job, begin, end, gate, subject, detail and numbers are equal for every row of every case."""
    for number in range(chunk, CASES, CHUNKS):
        fail_if_different(f"case {number}", EXPLAINED.sample(number), gate_differences)


@pytest.mark.parametrize(("backfill", "reservations"), ONE_AMOUNT)
def test_one_amount(backfill: str, reservations: int) -> None:
    """The same where a free amount decides which jobs fit, throughout a run or between events."""
    for number, case in enumerate(plain_cases()):
        ruled = replace(case, backfill=backfill, reservations=reservations)
        fail_if_different(f"plain case {number}", ruled, gate_differences)


def plain_cases() -> Iterator[Case]:
    """Make cases of one resource, some with long queues, events, and jobs that enter the queue late."""
    for number, case in enumerate(seeded_cases(range(PLAIN_CASES), plain=1, large=0.2)):
        rng = Random(number)  # noqa: S311 - no secret
        short = replace(case, jobs=case.jobs[:80])
        plain = delayed(short, rng) if rng.random() < 0.15 else short
        yield eventful(plain, rng) if rng.random() < 0.3 else plain


def test_gates_add_up() -> None:
    """The rows of a job that starts once go from its submission to its start, and nothing is between them."""
    seen, moved = Counter[str](), Counter[str]()
    for number in range(0, CASES, 3):
        case = EXPLAINED.sample(number)
        interrupted: list[object] = []
        outcomes = case.expected(interrupted)  # type: ignore[arg-type]  # rows are read only
        again = {each.row for each in interrupted}  # type: ignore[attr-defined]  # as above
        rows = defaultdict(list)
        gates = expected_gates(case)
        for row in rows_of(gates):
            rows[row[0]].append(row)
            seen[row[3]] += 1
        for *_, cause, about in gates.promises.intervals():
            rule = f"{case.backfill}{min(case.reservations, 2)}"
            moved.update([rule, *cause.split("+"), "one job" if about is not None else "several"])
        for job, outcome in zip(case.jobs, outcomes, strict=True):
            if outcome.start_time is not None and job.row not in again:
                own = rows[job.row]
                bounds = [bound for _, start, end, *_ in own for bound in (-start, end or 0.0)]
                assert fsum(bounds) == fsum((outcome.start_time, -job.submit_time))
    assert not [gate for gate in GATES if gate not in RARE and seen[gate] < ENOUGH], seen
    usual = ("end", "arrival", "job", "node", "reservation", "one job", "several")
    assert not [each for each in (*usual, "conservative1", "easy1", "easy2") if moved[each] < ENOUGH], moved


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_initial_states(chunk: int) -> None:
    """The same in runs that begin in a state made by hand."""
    for number in range(chunk, BEGUN_CASES, CHUNKS):
        check_begun(number)


def check_begun(number: int) -> None:
    """Fail where gates or promised starts differ in a run that begins in a state."""
    case = replace(EXPLAINED.sample(number), node_events=(), predictor="requested", sleep=None)
    begun, state = begun_case(case, number)
    found = handmade_gate_differences(begun, state)
    if found:
        pytest.fail("\n".join([f"begun case {number}", *found]), pytrace=False)


@pytest.mark.campaign
@pytest.mark.parametrize("chunk", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_many_gates(chunk: int) -> None:
    """The same for cases that no one has seen."""
    for number in range(UNSEEN + chunk, UNSEEN + min(chunk + CAMPAIGN_CHUNK, CAMPAIGN)):
        fail_if_different(f"case {number}", EXPLAINED.sample(number), gate_differences)
        check_begun(number)
