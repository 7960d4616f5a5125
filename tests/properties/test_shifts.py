"""Shifting all given times of a run by minutes shifts its result, and changes nothing else (S2)."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support.shifted_runs import differences, is_exact, outcome_of, shift_of, shifted_run

CASES = 600
PARTS = 12
# `BATCHLAB_CASES=50000 pytest -m campaign tests/properties/test_shifts.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CHUNK = 250


def check(seed: int) -> bool:
    """Fail if a shift changes more than times; whether times can be shifted without rounding."""
    here = outcome_of(shifted_run(seed, 0.0), 0.0)
    if not is_exact(here):
        return False
    shift = shift_of(seed)
    found = differences(here, outcome_of(shifted_run(seed, shift), shift))
    assert not found, f"seed {seed}, shifted by {shift:g} s: {found}"
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_shifts(part: int) -> None:
    """A sample of the campaign; nearly all runs have times that can be shifted."""
    seen = Counter(check(seed) for seed in range(part, CASES, PARTS))
    assert seen[True] >= 500 / PARTS, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(begin, min(begin + CHUNK, CAMPAIGN)):
        check(1_000_000 + seed)
