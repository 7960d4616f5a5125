"""Rules, orders and allocators written in Python give the schedules of the reference."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import batchlab as bl
from reference.predictors import PREDICTORS
from support.dependent_cases import conditioned
from support.python_policies import ALLOCATORS, DYNAMIC_ORDERS, SCHEDULERS, STATIC_ORDERS
from support.schedule_cases import Case, random_case
from support.schedule_runs import (
    Expected,
    differences,
    expected_of,
    fail_if_different,
    outcomes,
    policy_of,
)

CASES = 360
CHUNKS = 12
# Where the reference is too slow for many cases.
LARGE = 50


def case_of(number: int, *, large: float = 1 / 30) -> Case:
    """Give a case whose backfilling rule a scheduler written in Python can be; a share of them is large."""
    rng = random.Random(number)  # noqa: S311 - no secret
    case = random_case(rng, large=large)
    case = conditioned(case, rng) if rng.random() < 0.3 else case
    backfill = ("none", "first_fit", "easy", "easy")[number % 4]
    reservations = rng.choice((1, 2, 3)) if backfill == "easy" else 1
    return replace(case, backfill=backfill, reservations=reservations)


def differing(case: Case, policy: bl.Policy) -> list[str]:
    """List the jobs that differ from the reference, or in long queues from the built-in policy."""
    if len(case.jobs) < LARGE:
        return differences(case, policy)
    pairs = enumerate(zip(outcomes(case), outcomes(case, policy=policy), strict=True))
    return [f"job {row}: built-in {one}, got {other}" for row, (one, other) in pairs if one != other]


def check(case: Case, policy: bl.Policy, name: str, expected: Expected | None = None) -> None:
    """Fail with the smallest case found that still differs; `expected` is what the reference gives for it."""
    found = differing(case, policy) if expected is None else differences(case, policy, expected)
    fail_if_different(f"{name}: {policy}", case, lambda smaller: differing(smaller, policy), found)


def expected_once(case: Case) -> Expected | None:
    """Run the reference for several policies that it knows as one; None where it is too slow."""
    return expected_of(case) if len(case.jobs) < LARGE else None


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_schedulers(chunk: int) -> None:
    """`InOrder`, `FirstFit` and `Easy` are the built-in rules, under every order and allocator."""
    for number in range(chunk, CASES, CHUNKS):
        case: Any = case_of(number)
        scheduler = SCHEDULERS[case.backfill](case.reservations)
        policy = bl.Policy(case.order_text, allocator=case.allocator, scheduler=scheduler)
        check(case, policy, f"case_of({number})")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_orders(chunk: int) -> None:
    """A function of the jobs' columns, or of the queue's and now, is the built-in order; so with any rule."""
    for number in range(chunk, CASES, CHUNKS):
        rng = random.Random(number)  # noqa: S311 - no secret
        table = rng.choice((STATIC_ORDERS, DYNAMIC_ORDERS))
        name, order = rng.choice([*table.items()])
        case: Any = replace(case_of(number), order=name, order_argument=None)
        if number % 5 == 0 and len(case.jobs) < LARGE:
            case = replace(case, backfill="conservative", reservations=1)
        policy = bl.Policy(order, case.backfill, case.allocator, case.reservations)
        check(case, policy, f"case_of({number}) with {name}")
        if case.backfill != "conservative":
            scheduler = SCHEDULERS[case.backfill](case.reservations)
            policy = bl.Policy(order, allocator=case.allocator, scheduler=scheduler)
            check(case, policy, f"case_of({number}) with {name}")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_allocators(chunk: int) -> None:
    """An allocator that fills nodes in the same order is the built-in one."""
    for number in range(chunk, CASES // 3, CHUNKS):
        name, kinds = [*ALLOCATORS.items()][number % len(ALLOCATORS)]
        case: Any = replace(case_of(number), allocator=name)
        expected = expected_once(case)
        for kind in kinds:
            policy = bl.Policy(case.order_text, case.backfill, kind(), case.reservations)
            check(case, policy, f"case_of({number})", expected)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_allocators_place_reservations(chunk: int) -> None:
    """Under `conservative`, and `easy` with several reservations, they are asked about later times."""
    for number in range(chunk, CASES // 3, CHUNKS):
        name, kinds = [*ALLOCATORS.items()][number % len(ALLOCATORS)]
        backfill, reservations = ("conservative", 1) if number % 2 == 0 else ("easy", 2 + number % 3)
        case = replace(
            case_of(number, large=0.0), allocator=name, backfill=backfill, reservations=reservations
        )
        expected = expected_once(case)
        for kind in kinds:
            policy: Any = bl.Policy(case.order_text, case.backfill, kind(), case.reservations)  # type: ignore[arg-type]
            check(case, policy, f"case_of({number}, large=0.0) with {name}", expected)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_predictors(chunk: int) -> None:
    """Every rule plans with estimates, and with corrected ones once they have run out."""
    for number in range(chunk, CASES, CHUNKS):
        rng = random.Random(number)  # noqa: S311 - no secret
        case: Any = replace(case_of(number, large=0.0), predictor=rng.choice([*PREDICTORS]))
        if number % 3 == 0:
            case = replace(case, backfill="conservative", reservations=1)
        policy = policy_of(case)
        check(case, policy, f"case_of({number}, large=0.0)")
        if number % 3 == 1:
            scheduler = SCHEDULERS[case.backfill](case.reservations)
            policy = bl.Policy(case.order_text, "none", case.allocator, 1, case.predictor, scheduler)
            check(case, policy, f"case_of({number}, large=0.0)")


def test_coverage() -> None:
    """The cases reach every rule with every option, exclusive jobs, limits per node, and zero run times."""
    tested = [case_of(number) for number in range(CASES)]
    options = Counter((case.backfill, case.walltime, case.order_at_instant) for case in tested)
    assert len(options) == 18
    assert min(options.values()) >= 8
    assert {case.reservations for case in tested} == {1, 2, 3}
    assert any(job.exclusive for case in tested for job in case.jobs)
    assert any(job.tasks_per_node for case in tested for job in case.jobs)
    assert any(job.run_time == 0 for case in tested for job in case.jobs)
