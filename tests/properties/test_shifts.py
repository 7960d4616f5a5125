"""Shifting all given times of a run by minutes shifts its result, and changes nothing else (S2)."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support.shifted_applications import distances, has_one_clock, shifted_application_run
from support.shifted_runs import differences, is_exact, outcome_of, shift_of, shifted_run

# Without applications, with such whose times are float64 without rounding, and with any.
CASES = {"jobs": 135, "applications": 85, "messages": 65}
PARTS = 15
# `BATCHLAB_CASES=50000 pytest -m campaign tests/properties/test_shifts.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CHUNK = 250


def check(kind: str, seed: int) -> bool:
    """Fail if a shift changes more than times; whether times can be shifted without rounding."""
    if kind == "messages":
        return check_to_rounding(seed)
    with_applications = kind == "applications"
    here = outcome_of(shifted_run(seed, 0.0, with_applications=with_applications), 0.0)
    if not is_exact(here):
        return False
    shift = shift_of(seed)
    later = shifted_run(seed, shift, with_applications=with_applications)
    found = differences(here, outcome_of(later, shift))
    assert not found, f"{kind}, seed {seed}, shifted by {shift:g} s: {found}"
    return True


def check_to_rounding(seed: int) -> bool:
    """Fail if a shift changes more than the rounding of times does; run times to 1e-9."""
    shift = shift_of(seed)
    run, later = shifted_application_run(seed, 0.0), shifted_application_run(seed, shift)
    here, there = outcome_of(run, 0.0), outcome_of(later, shift)
    found = distances(here, there, has_one_clock=has_one_clock(run))
    assert not found, f"messages, seed {seed}, shifted by {shift:g} s: {found[:9]}"
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_shifts(part: int) -> None:
    """A sample of the campaign; nearly all runs have times that can be shifted."""
    seen = Counter(check(kind, seed) for kind, cases in CASES.items() for seed in range(part, cases, PARTS))
    assert seen[True] >= 500 / 570 * seen.total(), seen


@pytest.mark.campaign
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CHUNK))
def test_campaign(kind: str, begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(begin, min(begin + CHUNK, CAMPAIGN)):
        check(kind, 1_000_000 + seed)
