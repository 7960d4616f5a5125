"""Machines that give whole cores, partitions that give whole nodes: kernel and reference are equal (S3)."""

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from reference.queues import in_partitions
from reference.whole_cores import in_whole_cores
from support.combinations import Combinations
from support.queue_cases import limited, queued
from support.schedule_cases import Case

CASES = 336
CHUNKS = 4
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_whole_nodes_and_cores.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Let the machine give cores by multiples, some of its partitions whole nodes, or both."""
    case = queued(case, rng)
    case = limited(case, rng) if rng.random() < 0.2 else case
    machine = case.machine
    if rng.random() < 0.7:
        machine = replace(machine, core_multiple=rng.choice((2, 2, 3, 4)))
    if rng.random() < 0.7:
        partitions = tuple(replace(each, exclusive=rng.random() < 0.5) for each in machine.partitions)
        machine = replace(machine, partitions=partitions)
    return replace(case, machine=machine)


WHOLE = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        WHOLE.check(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        WHOLE.check(number)


def test_coverage() -> None:
    """The cases have requests that change, and jobs that take nodes whole only for their partition."""
    seen: Counter[str] = Counter()
    for number in range(CASES):
        case = WHOLE.sample(number)
        for job in case.jobs:
            whole = in_whole_cores(job, case.machine)
            bound = in_partitions(whole, case.machine)
            seen["changed"] += whole != job
            seen["fewer tasks"] += whole.tasks < job.tasks
            seen["exclusive"] += not isinstance(bound, str) and bound.exclusive and not job.exclusive
    assert min(seen.values()) > 500, seen
