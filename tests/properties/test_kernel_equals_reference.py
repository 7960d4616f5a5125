"""The compiled kernel, through the public API, gives the schedules of the plain-Python reference."""

import os
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from reference import Job, Machine, NodeEvent
from support.combinations import until_enough
from support.dependent_cases import conditioned
from support.schedule_cases import ALLOCATORS, BACKFILLS, FORMULAS, ORDERS, Case, random_case
from support.schedule_runs import fail_if_different

COMBINATIONS = tuple(product(ORDERS, BACKFILLS, ALLOCATORS))
CASES = 5 * len(COMBINATIONS)
CHUNKS = 36
LARGE = 60
LARGE_CHUNKS = 12
# `BATCHLAB_CASES=100000 pytest -m campaign tests/properties`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "20000"))
CAMPAIGN_CHUNK = 250


def numbered_case(number: int) -> Case:
    """Give a case; as many in a row as there are combinations go through all of them."""
    random = Random(number)  # noqa: S311 - no secret
    case = random_case(random)
    if case.backfill == "reject":
        return case
    order, backfill, allocator = COMBINATIONS[number % len(COMBINATIONS)]
    argument: dict[str, int | str] = {
        "random": random.choice((0, 7, 2**64 - 1)),
        "expression": random.choice(list(FORMULAS)),
    }
    if random.random() < 0.4:
        case = conditioned(case, random)
    return replace(
        case,
        order=order,
        order_argument=argument.get(order),
        backfill=backfill,
        allocator=allocator,
        reservations=random.choice((1, 1, 1, 2, 3, 4)) if backfill == "easy" else 1,
    )


def large_case(seed: int) -> Case:
    """Give a case with a long queue."""
    return random_case(Random(seed), large=1.0)  # noqa: S311 - no secret


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end and the tasks on each node are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        fail_if_different(f"numbered_case({number})", numbered_case(number))


@pytest.mark.parametrize("chunk", range(LARGE_CHUNKS))
def test_long_queues(chunk: int) -> None:
    """The same where 60 to 200 jobs queue for one to three nodes."""
    for seed in range(chunk, LARGE, LARGE_CHUNKS):
        fail_if_different(f"large_case({seed})", large_case(seed))


# (4,) and (1,) are requests: the cores that each task asks for.
EXCLUSIVE_BEHIND_A_HEAD = {
    # Job 2 would take 8 cores of node 1, which harms job 1. Once job 3 is there it can only go to node 2.
    "elsewhere after a start": Case(
        (
            Job(0, 0.0, 100.0, 100.0, 8, (1,)),
            Job(1, 1.0, 100.0, 100.0, 15, (1,)),
            Job(2, 2.0, 500.0, 500.0, 1, (1,), exclusive=True),
            Job(3, 3.0, 10.0, 10.0, 1, (1,)),
            Job(4, 4.0, 10.0, 10.0, 1, (1,)),
        ),
        Machine(("core",), [(8,), (8,), (2,)]),
        backfill="easy",
    ),
    # Job 2 takes all 3 of 4 cores that node 1 offers: what is withheld is no loss to job 1, which waits.
    "on a node of which some is withheld": Case(
        (
            Job(0, 0.0, 100.0, 100.0, 1, (4,)),
            Job(1, 1.0, 100.0, 100.0, 1, (4,)),
            Job(2, 2.0, 500.0, 500.0, 1, (1,), exclusive=True),
        ),
        Machine(("core",), [(4,), (4,)]),
        backfill="easy",
        node_events=(NodeEvent(0.0, 1, "withhold", (1,)),),
    ),
}


@pytest.mark.parametrize("name", EXCLUSIVE_BEHIND_A_HEAD)
def test_exclusive_jobs_behind_a_head(name: str) -> None:
    """What an exclusive job takes from the head depends on the node that it gets, and on what that offers."""
    case = EXCLUSIVE_BEHIND_A_HEAD[name]
    fail_if_different(name, case)
    outcome = case.expected()[2]
    assert outcome.start_time is not None
    assert outcome.start_time < 5


def test_coverage() -> None:
    """The cases reach every order with every backfilling rule and allocator, and every option."""
    tested = [numbered_case(number) for number in range(CASES)]
    together = Counter((case.order, case.backfill, case.allocator) for case in tested)
    assert CASES >= 2500
    assert set(COMBINATIONS) <= set(together)
    assert any(case.backfill == "reject" for case in tested)
    options = Counter[tuple[str, str, str]](
        (case.backfill, case.walltime, case.order_at_instant) for case in tested
    )
    assert min(options[key] for key in product(BACKFILLS, ("run", "kill"), ("completions_first",))) > 100
    others = product(BACKFILLS, ("run", "kill"), ("arrivals_first", "event_by_event"))
    assert min(options[key] for key in others) > 40
    assert {case.reservations for case in tested if case.backfill == "easy"} == {1, 2, 3, 4}
    assert {case.order_argument for case in tested if case.order == "expression"} == set(FORMULAS)


def test_coverage_of_conditions() -> None:
    """Under every rule jobs wait in all ways, some in vain."""
    found: Counter[tuple[str, str]] = Counter()
    ways = ("after", "afterok", "afternotok", "afterany", "singleton", "any", "begin", "place", "vain")

    def is_enough() -> bool:
        return min(found[key] for key in product(BACKFILLS, ways)) > 10

    for number in until_enough(range(CASES), is_enough):
        case = numbered_case(number)
        for job, outcome in zip(case.jobs, case.expected(), strict=True):
            kinds = {each.kind for each in job.dependencies}
            kinds |= {"any"} if job.any_dependency and len(job.dependencies) > 1 else set()
            kinds |= {"begin"} if job.begin_time > job.submit_time else set()
            kinds |= {"place"} if job.array_limit else set()
            kinds |= {"vain"} if outcome.reason == "dependency" else set()
            found.update((case.backfill, kind) for kind in kinds)
    assert is_enough(), found


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen, one in twenty of them large."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        seed = 1_000_000 + number
        if number % 20:
            fail_if_different(f"numbered_case({seed})", numbered_case(seed))
        else:
            fail_if_different(f"large_case({seed})", large_case(seed))
