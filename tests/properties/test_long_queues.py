"""Rules that keep a plan give the schedules of the reference where many jobs wait, however the plan is kept.

`BATCHLAB_CASES=20000 pytest -m campaign tests/properties/test_long_queues.py` is the campaign; a
sample runs every time.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from support.long_queue_cases import counted_case, crowded_case, neighbour_case, waiting_case
from support.schedule_cases import ALLOCATORS, ORDERS, Case
from support.schedule_runs import differences, expected_of, fail_if_different, reason_differences
from support.sleep_cases import sleeping_differences

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = 72
CHUNKS = 12
SLOW = 16
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 100
UNSEEN = 1_000_000
# Run times that the clairvoyant saw with overheads; keys of jobs that wait again by a corrected estimate;
# limits of jobs whose work is done behind that of others on their clock; reservations that are made anew in
# the pass in which a job starts on nodes that have to wake.
FOUND = (1_000_345, 1_004_635, 1_007_472, 1_010_193, 1_014_371, 1_008_694, 1_011_077)


def check_crowded(number: int) -> None:
    """Fail where jobs, nodes, interruptions, and in some cases reasons or power states, are others."""
    case, name = crowded_case(number), f"crowded_case({number})"
    with_reasons = case.sleep is None and number % 4 == 1
    expected = expected_of(case, reasons=with_reasons)
    fail_if_different(name, case, found=differences(case, expected=expected))
    if case.sleep is not None:
        fail_if_different(name, case, sleeping_differences)
    elif with_reasons:
        fail_if_different(name, case, reason_differences, reason_differences(case, expected))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_long_queues(chunk: int) -> None:
    """State, start, end and the tasks on each node are equal for every job of every case."""
    for number in range(chunk, SAMPLE, CHUNKS):
        fail_if_different(f"waiting_case({number})", waiting_case(number))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_counted_jobs(chunk: int) -> None:
    """The same where totals tell most reservations of `easy(reservations=k)`."""
    for number in range(chunk, 2 * SAMPLE, CHUNKS):
        fail_if_different(f"counted_case({number})", counted_case(number))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_jobs_on_neighbours(chunk: int) -> None:
    """The same where `easy` looks for consecutive whole nodes."""
    for number in range(chunk, SAMPLE, CHUNKS):
        fail_if_different(f"neighbour_case({number})", neighbour_case(number))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_crowded_machines(chunk: int) -> None:
    """The same on machines with many rules, where much happens while jobs wait."""
    for number in range(chunk, SAMPLE, CHUNKS):
        check_crowded(SAMPLE if number == SLOW else number)


@pytest.mark.campaign
@pytest.mark.timeout(400)
def test_a_slow_case() -> None:
    """The plain reference plans for minutes."""
    check_crowded(SLOW)


@pytest.mark.parametrize("number", FOUND)
def test_cases_of_the_campaign(number: int) -> None:
    """What a campaign found stays mended."""
    check_crowded(number)


def test_coverage() -> None:
    """Every kind of machine, event and setting meets conservative, and so does every order and allocator."""
    kinds: dict[str, Callable[[Case], object]] = {
        "partitions": lambda case: case.machine.partitions,
        "limits": lambda case: case.machine.limits,
        "reservations": lambda case: case.machine.reservations,
        "groups": lambda case: case.machine.groups,
        "several resources": lambda case: len(case.machine.resources) > 1,
        "exclusive": lambda case: any(job.exclusive for job in case.jobs),
        "dependencies": lambda case: any(job.dependencies for job in case.jobs),
        "overheads": lambda case: case.overheads,
        "node events": lambda case: case.node_events,
        "external events": lambda case: case.events,
        "rates": lambda case: case.controls,
        "sleep": lambda case: case.sleep,
        "predictors": lambda case: case.predictor != "requested",
    }
    seen: Counter[str] = Counter()
    for number in range(800):
        case = crowded_case(number)
        if case.backfill == "conservative":
            seen.update(name for name, has in kinds.items() if has(case))
            seen.update((case.order, case.allocator))
    names = (*kinds, *ORDERS, *ALLOCATORS, "multifactor", "sbp")
    assert min(seen[name] for name in names) >= 5, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen, one in ten of them with few rules."""
    for number in range(UNSEEN + begin, UNSEEN + min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        if number % 10:
            check_crowded(number)
        else:
            fail_if_different(f"waiting_case({number})", waiting_case(number))
