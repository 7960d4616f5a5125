"""No job without a reservation that stands waits beside nodes on which it could start (S7)."""

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from reference import Job, Limit, Machine, Overhead, Overheads
from support.combinations import until_enough
from support.event_cases import delayed
from support.idle_room import IdleRoom
from support.queue_cases import limited, queued
from support.schedule_cases import Case, random_case
from support.schedule_runs import Expected, differences, expected_of, fail_if_different

RULES = (("easy", 1), ("easy", 2), ("easy", 4), ("conservative", 1), ("conservative", 1))
CASES = 300
CHUNKS = 6
# `BATCHLAB_CASES=50000 pytest -m campaign tests/properties/test_idle_room.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 500


def idle_case(number: int) -> Case:
    """Return a case of one of the rules, often with limits, overheads and jobs that run too long."""
    random = Random(f"idle/{number}")  # noqa: S311 - no secret
    backfill, reservations = RULES[number % len(RULES)]
    case = replace(random_case(random), backfill=backfill, reservations=reservations)
    case = queued(case, random) if random.random() < 0.2 else case
    case = limited(case, random) if random.random() < 0.6 else case
    limits = tuple(replace(limit, blocks=False) for limit in case.machine.limits)
    case = replace(case, machine=replace(case.machine, limits=limits))
    return delayed(case, random) if random.random() < 0.4 else case


def waiting_beside_idle_nodes(case: Case) -> tuple[IdleRoom, Expected]:
    """Simulate by the reference, and look at the jobs that wait after each pass."""
    idle_room = IdleRoom(case)
    return idle_room, expected_of(case, after_pass=idle_room.look)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_job_waits_beside_idle_nodes(chunk: int) -> None:
    """A job that leaves all reservations that stand where they are starts at once, also in the kernel."""
    for number in range(chunk, CASES, CHUNKS):
        case = idle_case(number)
        idle_room, expected = waiting_beside_idle_nodes(case)
        assert not idle_room.found, f"idle_case({number}): {idle_room.found}"
        fail_if_different(f"idle_case({number})", case, found=differences(case, expected=expected))


def test_coverage() -> None:
    """Each rule is tried with jobs that wait without a reservation, also beside limits and overdue jobs."""
    found: Counter[str] = Counter()

    def is_enough() -> bool:
        rules = {f"{backfill}({reservations})" for backfill, reservations in RULES}
        kinds = ("", " over limits", " overdue")
        return min(found[f"{rule}{kind}"] for rule in rules for kind in kinds) > 20

    for number in until_enough(range(CASES), is_enough):
        case = idle_case(number)
        idle_room, _ = waiting_beside_idle_nodes(case)
        rule = f"{case.backfill}({case.reservations})"
        found[rule] += idle_room.looked_at
        found[f"{rule} over limits"] += idle_room.over_limit
        found[f"{rule} overdue"] += idle_room.overdue
    assert is_enough(), found


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """The same over many more cases."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        idle_room, _ = waiting_beside_idle_nodes(idle_case(number))
        assert not idle_room.found, f"idle_case({number}): {idle_room.found}"


def jobs_of(rows: list[tuple[float, float, float, int, str]]) -> tuple[Job, ...]:
    """Make jobs of submit_time, run_time, requested_time, tasks and user."""
    return tuple(
        Job(row, submit, run, requested, tasks, (1,), user=user)
        for row, (submit, run, requested, tasks, user) in enumerate(rows)
    )


NARROW = [(0.0, 900.0, 10.0, 1, "a"), *((100.0 * n, 50.0, 50.0, 1, "a") for n in (1, 2, 3))]
STARTS = {
    # The node of the first job does not come free in time: the others go to those that are free.
    "overdue": (Case(jobs_of(NARROW), Machine(("core",), [(1,)] * 3)), [0, 100, 200, 300]),
    # The same where the limit does not foresee how long it takes to complete.
    "completing": (
        Case(
            jobs_of([(0.0, 60.0, 60.0, 1, "a"), (61.0, 10.0, 60.0, 1, "a")]),
            Machine(("core",), [(1,)] * 3),
            overheads=Overheads((Overhead(0.0, 0.0, 1000.0), Overhead(0.0, 0.0, 1000.0))),
        ),
        [0, 61],
    ),
    # The second waits for all three nodes, and one is overdue: the third uses another.
    "wide": (
        Case(
            jobs_of([(0.0, 900.0, 10.0, 1, "a"), (100.0, 50.0, 50.0, 3, "a"), (200.0, 50.0, 400.0, 1, "a")]),
            Machine(("core",), [(1,)] * 3),
        ),
        [0, 900, 200],
    ),
    # The second of Ann's jobs is over her limit as soon as the first has started: its nodes are Ben's.
    "limit": (
        Case(
            jobs_of(
                [(0.0, 100.0, 100.0, 2, "ann"), (0.0, 100.0, 100.0, 2, "ann"), (0.0, 50.0, 50.0, 2, "ben")]
            ),
            Machine(("core",), [(1,)] * 4, limits=(Limit(per=("user",), nodes=2),)),
        ),
        [0, 100, 0],
    ),
    "many over a limit": (
        Case(
            jobs_of([(0.0, 100.0, 100.0, 2, "ann")] * 5 + [(0.0, 50.0, 50.0, 2, "ben")]),
            Machine(("core",), [(1,)] * 4, limits=(Limit(per=("user",), running_jobs=1),)),
        ),
        [0, 200, 100, 300, 400, 0],
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_conservative(name: str) -> None:
    """Reservations that do not come true are given up, and others have their room in the same pass."""
    case, starts = STARTS[name]
    case = replace(case, backfill="conservative")
    assert [outcome.start_time for outcome in case.expected()] == starts
    fail_if_different(name, case)


@pytest.mark.parametrize("reservations", [1, 2])
def test_head_over_a_limit(reservations: int) -> None:
    """Where a backfilled job brings EASY's head over a limit, its reservation restrains no job of the pass.

    Job 1 of Ann is the head: it waits for job 0. Job 2, hers as well, is backfilled, and she may have one.
    """
    rows = [
        (0.0, 100.0, 100.0, 2, "ben"),
        (1.0, 100.0, 100.0, 4, "ann"),
        (1.0, 50.0, 50.0, 1, "ann"),
        (1.0, 500.0, 500.0, 1, "cy"),
    ]
    machine = Machine(("core",), [(1,)] * 4, limits=(Limit(per=("user",), running_jobs=1),))
    case = Case(jobs_of(rows), machine, backfill="easy", reservations=reservations)
    assert [outcome.start_time for outcome in case.expected()] == [0, 501, 1, 1]
    fail_if_different("head", case)
