"""Runs that begin in the middle: cut and begun again they are the same; by hand, as in the reference."""

import os
from collections import Counter

import pytest

from support.initial_cases import begun_case, cut_differences, featured, handmade_differences
from support.schedule_cases import BACKFILLS

CASES = 360
BY_HAND = 300
CHUNKS = 12
# `BATCHLAB_CASES=100000 pytest -m campaign tests/properties/test_initial_states.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "3000"))
CAMPAIGN_CHUNK = 250
# Of 100 cut runs at least so many have a state.
MOST = 80


def check_cut(number: int) -> bool:
    """Fail where a run that begins anew differs from the undisturbed one; whether the run had a state."""
    found = cut_differences(featured(number), number)
    if isinstance(found, str):
        assert "an initial state does not hold" in found, f"featured({number}): {found}"
        return False
    if found:
        pytest.fail("\n".join([f"featured({number})", *found]), pytrace=False)
    return True


def check_by_hand(number: int) -> None:
    """Fail where the kernel differs from the reference in a run that begins in a state made by hand."""
    case, state = begun_case(featured(number), number)
    found = handmade_differences(case, state)
    if found:
        pytest.fail("\n".join([f"begun_case(featured({number}), {number})", *found]), pytrace=False)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_cut_and_begun_again(chunk: int) -> None:
    """Every job has the same state, times and nodes, whatever the policy and the features."""
    states = [check_cut(number) for number in range(chunk, CASES, CHUNKS)]
    assert 100 * sum(states) >= MOST * len(states)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_by_hand(chunk: int) -> None:
    """The same job by job and node by node as the reference."""
    for number in range(chunk, BY_HAND, CHUNKS):
        check_by_hand(number)


def test_coverage() -> None:
    """The states have jobs of all kinds, with every rule."""
    rules: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for number in range(BY_HAND):
        case, state = begun_case(featured(number), number)
        rules[case.backfill] += any(each.state == "running" for each in state.jobs)
        states.update(each.state for each in state.jobs)
        states["chosen"] += any(each.state == "running" and each.placement is None for each in state.jobs)
        states["drained"] += bool(state.drained)
    assert min(rules[rule] for rule in BACKFILLS) > 20
    names = ("running", "queued", "held", "completed", "killed", "chosen", "drained")
    assert min(states[name] for name in names) > 20


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check_cut(1_000_000 + number)
        check_by_hand(1_000_000 + number)
