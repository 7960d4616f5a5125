"""Sharing a platform: the kernel's completion times are the reference's, for every model."""

import os
from collections import Counter

import pytest

from support.sharing_cases import MODELS, expected, found, random_case

CASES = 300
CHUNKS = 5
# `BATCHLAB_CASES=100000 pytest -m campaign tests/properties`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 500
ROUNDING = 1e-9


def check(seed: int) -> None:
    """Fail where the kernel differs."""
    case = random_case(seed)
    kernel, reference = found(case), expected(case)
    if kernel != pytest.approx(reference, rel=ROUNDING, abs=ROUNDING):
        pytest.fail(f"random_case({seed}): {case}\n{kernel}, not\n{reference}", pytrace=False)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_completion_times(chunk: int) -> None:
    """Flows and parallel tasks with starts of their own, over shared links and fat pipes, to rounding."""
    for seed in range(chunk, CASES, CHUNKS):
        check(seed)


def test_rounding_frees_the_links() -> None:
    """An activity that rounding leaves nothing to do when another ends gives its links back."""
    check(3305)


def test_coverage() -> None:
    """The cases reach every model."""
    models = Counter(random_case(seed).model for seed in range(CASES))
    assert set(models) == set(MODELS)
    assert min(models.values()) > CASES / 10


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check(1_000_000 + seed)
