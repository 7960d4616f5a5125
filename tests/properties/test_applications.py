"""Jobs that run applications: the kernel asks, starts, resizes and ends as the reference does."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest

from reference.elastic import Elastic
from support.application_cases import (
    SHARINGS,
    ElasticCase,
    Question,
    cached_case,
    expected,
    launched_case,
    random_case,
)
from support.application_runs import forked, simulated

CASES = 200
CHUNKS = 10
# `BATCHLAB_CASES=100000 pytest -m campaign tests/properties`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 250
ROUNDING = 1e-9
FORKS = 12
POLICIES = (
    "fcfs",
    "easy",
    "conservative",
    "first_fit",
    "malleable",
    "malleable(order=srtf)",
    "equipartition",
)


@cache
def wanted(seed: int, make: Callable[[int], ElasticCase] = random_case) -> tuple[list[Question], Elastic]:
    """Simulate a case by the reference."""
    return expected(make(seed))


def close(found: float | None, wanted: float) -> bool:
    """Tell whether times are the same, s; -1 stands for none."""
    return abs((-1.0 if found is None else found) - wanted) <= ROUNDING * max(1.0, wanted)


def ties(questions: list[Question], simulation: Elastic) -> bool:
    """Tell whether two jobs do something at one instant: which comes first is not said."""
    points = [(time, job) for time, seen in questions for job in seen.points]
    acts = sorted([*points, *((job.end_time, job.number) for job in simulation.jobs)])
    return any(close(one[0], other[0]) and one[1] != other[1] for one, other in pairwise(acts))


def differences(seed: int, make: Callable[[int], ElasticCase]) -> list[str]:
    """Say where the kernel parts from the reference."""
    questions, simulation = wanted(seed, make)
    found, jobs = simulated(make(seed))
    parted = [
        f"question {number}: {one}, not {other}"
        for number, (one, other) in enumerate(zip(found, questions, strict=False), 1)
        if one[1] != other[1] or not close(one[0], other[0])
    ][:1]
    if len(found) != len(questions):
        parted.append(f"{len(found)} questions, not {len(questions)}")
    for (state, start, end), job in zip(jobs, simulation.jobs, strict=True):
        should = job.state.name.lower(), job.start_time, job.end_time
        if state != should[0] or not close(start, should[1]) or not close(end, should[2]):
            parted.append(f"job {job.number}: {state, start, end}, not {should}")
    return parted


def check(seed: int, make: Callable[[int], ElasticCase] = random_case) -> bool:
    """Fail where the kernel differs and may not; tell whether it is equal."""
    found = differences(seed, make)
    if found and not ties(*wanted(seed, make)):
        pytest.fail("\n".join([f"{make.__name__}({seed})", *found]), pytrace=False)
    return not found


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_question_start_and_end(chunk: int) -> None:
    """What the scheduler is asked and sees, and when jobs start and end, to rounding."""
    seeds = range(chunk, CASES, CHUNKS)
    assert sum(map(check, seeds)) >= len(seeds) - 1


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_data_that_is_cached(chunk: int) -> None:
    """The same, where data is written into burst buffers and migrates from there."""
    seeds = range(chunk, CASES, CHUNKS)
    assert sum(check(seed, cached_case) for seed in seeds) >= len(seeds) - 1


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_jobs_that_are_launched(chunk: int) -> None:
    """The same, where jobs are launched for a while and resized in their launch."""
    seeds = range(chunk, CASES, CHUNKS)
    assert sum(check(seed, launched_case) for seed in seeds) >= len(seeds) - 1


@pytest.mark.parametrize("policy", POLICIES)
def test_forks_go_their_own_way(policy: str) -> None:
    """Cut anywhere, a run and its fork end as the run that was not cut, whichever goes first."""
    # In the last one a job asks for tasks at the very point where it loses some by an earlier decision.
    for seed in (*range(FORKS), 84):
        cut = (seed % FORKS + 1) / (FORKS + 1)
        whole, *halves = forked(random_case(seed), policy, cut=cut, twin_first=seed % 2 == 0)
        assert all(half.equals(whole) for half in halves), f"random_case({seed})"


def test_forks_have_their_own_caches() -> None:
    """The same of data that is cached, and migrates when the run is cut."""
    for seed in range(FORKS):
        cut = (seed + 1) / (FORKS + 1)
        whole, *halves = forked(cached_case(seed), "malleable", cut=cut, twin_first=seed % 2 == 0)
        assert all(half.equals(whole) for half in halves), f"cached_case({seed})"


def test_coverage() -> None:
    """The cases reach every kind of question, job and reconfiguration, and both ways of sharing."""
    runs = [wanted(seed) for seed in range(CASES)]
    kinds = Counter(seen.kind for questions, _ in runs for _, seen in questions)
    assert len(kinds) == 7
    assert min(kinds.values()) > 20
    fates = Counter((job.job_type, job.state.name) for _, simulation in runs for job in simulation.jobs)
    assert len(fates) == 10
    sharings = Counter(random_case(seed).sharing for seed in range(CASES))
    assert min(sharings[name] for name in SHARINGS) > CASES / 4


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check(1_000_000 + seed)
        check(1_000_000 + seed, cached_case)
