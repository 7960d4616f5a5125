"""The kernel gives the schedules of the reference with overheads and external events."""

import os
from collections import Counter
from random import Random

import pytest

from reference import Overheads
from support.combinations import Combinations, until_enough
from support.event_cases import KINDS, MACHINE_KINDS, delayed, eventful
from support.preemption_cases import preempting
from support.priority_cases import prioritised
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import BACKFILLS, Case
from support.schedule_runs import applied_of, result_of

CASES = 672
CHUNKS = 8
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_events.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Give jobs overheads, events, or both, on all kinds of machines."""
    if rng.random() < 0.2:
        case = prioritised(case, rng)
    elif rng.random() < 0.5:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.5 else case
        case = reserved(case, rng) if rng.random() < 0.4 else case
    case = delayed(case, rng) if rng.random() < 0.6 else case
    return eventful(case, rng) if case.overheads is None or rng.random() < 0.7 else case


EVENTFUL = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        EVENTFUL.check(number)


def test_policies_written_in_python() -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(60):
        EVENTFUL.check_in_python(number)


def check_served(case: Case) -> int:
    """Fail if a completed job has other work than it was served; return the number of runs seen."""
    result = result_of(case)
    table, states = result.service_intervals, result.jobs["state"]
    ended = {event.row for event in case.events if event.kind == "end"}
    overheads = case.overheads or Overheads()
    for row, runs in table.group_by("row"):
        job = case.jobs[int(str(row[0]))]
        last = runs.row(-1, named=True)
        if states[job.row] != "completed":
            continue
        done = sum(runs["work"].to_list())
        served = last["work_end"] - last["work_start"]
        required = job.run_time + overheads.of(job).execution
        assert done <= job.run_time * (1 + 1e-9)
        assert done == pytest.approx(job.run_time, rel=1e-9) or job.row in ended
        assert last["work_end"] <= last["end_time"]
        # Times are rounded to float64.
        assert served >= last["work"] - 1e-9
        # What jobs keep of earlier runs may include overhead.
        if len(runs) == 1 and served < required - 1e-9:
            assert job.row in ended
            assert last["work"] == pytest.approx(min(served, job.run_time), abs=1e-9)
    return len(table)


def test_served_work() -> None:
    """Each completed job is served its work, also if its run or its completion is cut short."""
    assert sum(check_served(EVENTFUL.sample(number)) for number in range(252)) > 1000


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        EVENTFUL.check(number)


def test_coverage() -> None:
    """Every kind of event applies, and fails to apply, under every rule."""
    seen: Counter[tuple[str, str, bool]] = Counter()
    kinds = [(kind, flag) for kind in (*KINDS, *MACHINE_KINDS) for flag in (True, False)]

    def missing() -> list[tuple[str, str, bool]]:
        return [(rule, *kind) for rule in BACKFILLS for kind in kinds if not seen[rule, *kind]]

    for number in until_enough(range(CASES), lambda: not missing()):
        case = EVENTFUL.sample(number)
        if not case.events:
            continue
        # The check of each case compares the flags with those of the reference.
        flags = applied_of(case, result_of(case))
        seen.update((case.backfill, event.kind, flag) for event, flag in zip(case.events, flags, strict=True))
    assert missing() == []
