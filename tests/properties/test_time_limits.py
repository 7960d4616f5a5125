"""The kernel gives the schedules of the reference where limits and requested times are two things (S3)."""

from __future__ import annotations

import os
from math import inf
from typing import TYPE_CHECKING

import pytest

from support.combinations import UNSEEN, Combinations, until_enough
from support.event_cases import delayed, eventful
from support.limit_cases import with_time_limits
from support.queue_cases import limited, queued, reserved

if TYPE_CHECKING:
    from random import Random

    from support.schedule_cases import Case

CASES = 300
CHUNKS = 3
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_time_limits.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Make limits of time, and often what goes by them: queues, limits, reservations, overheads, events."""
    case = queued(case, rng) if rng.random() < 0.5 else case
    case = limited(case, rng) if rng.random() < 0.4 else case
    case = reserved(case, rng) if rng.random() < 0.4 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    case = with_time_limits(case, rng)
    return eventful(case, rng) if rng.random() < 0.3 else case


LIMITED = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        LIMITED.check(number)


def test_coverage() -> None:
    """Jobs are killed before what was planned, outlive it, and have no limit at all."""
    seen = dict.fromkeys(("before", "beyond", "unlimited", "unknown"), 0)
    for number in until_enough(range(CASES), lambda: min(seen.values()) > 10):
        case = LIMITED.sample(number)
        for job, outcome in zip(case.jobs, case.expected(), strict=True):
            lasted = (outcome.end_time or 0.0) - (outcome.start_time or 0.0)
            killed = outcome.state == "killed" and case.walltime == "kill"
            seen["before"] += killed and lasted == job.limit < job.requested_time
            seen["beyond"] += outcome.state == "completed" and lasted > job.requested_time
            seen["unlimited"] += job.limit == inf
            seen["unknown"] += job.requested_time == inf
    assert min(seen.values()) > 10, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        LIMITED.check(UNSEEN + number)
