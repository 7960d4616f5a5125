"""Numbered cases that go through all combinations of order, backfilling and allocator, and their check."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import TYPE_CHECKING, Any

import batchlab as bl
from reference.partitions import connected
from support.dependent_cases import conditioned
from support.python_policies import ALLOCATORS as PYTHON_ALLOCATORS
from support.python_policies import SCHEDULERS
from support.schedule_cases import ALLOCATORS, BACKFILLS, FORMULAS, ORDERS, Case, disturbed, random_case
from support.schedule_runs import (
    Expected,
    differences,
    expected_of,
    fail_if_different,
    reason_differences,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["COMBINATIONS", "UNSEEN", "Combinations", "until_enough"]

COMBINATIONS = [*product(ORDERS, BACKFILLS, ALLOCATORS)]
SHORT = 25
# The reference takes O(q³) for a long queue that is planned; properties/test_long_queues.py has longer ones.
LONGEST = {"none": 100, "first_fit": 100, "easy": 80, "conservative": 40}
# The cases of campaigns, which begin here, are twice as long.
UNSEEN = 1_000_000


@dataclass(frozen=True)
class Combinations:
    """Cases of one kind by their numbers; as many in a row as there are combinations go through all of them.

    Parameters
    ----------
    changed
        Makes a case one of the kind.
    is_whole
        Whether cases have all of their jobs every time: some things happen in long queues only.
    """

    changed: Callable[[Case, random.Random], Case]
    is_whole: bool = False

    def sample(self, number: int) -> Case:
        """Give a case as it is tested every time, with at most half of the jobs; one of a campaign whole."""
        return self.case(number, whole=self.is_whole or number >= UNSEEN)

    def case(self, number: int, *, whole: bool = True) -> Case:
        """Give a case; in every second one jobs wait for each other, every third one has node events."""
        rng = random.Random(number)  # noqa: S311 - no secret
        order, backfill, allocator = COMBINATIONS[number % len(COMBINATIONS)]
        argument: dict[str, int | str] = {
            "random": rng.choice((0, 7, 2**64 - 1)),
            "expression": rng.choice(list(FORMULAS)),
        }
        case = replace(
            random_case(rng, large=0.05),
            order=order,
            order_argument=argument.get(order),
            backfill=backfill,
            allocator=allocator,
            reservations=rng.choice((1, 1, 1, 2, 3, 4)) if backfill == "easy" else 1,
        )
        longest = LONGEST[backfill] * (2 if number >= UNSEEN else 1) // (1 if whole else 2)
        case = replace(case, jobs=case.jobs[:longest])
        case = self.changed(case, rng)
        case = conditioned(case, rng) if number % 2 else case
        return disturbed(case, rng) if number % 3 == 0 else case

    def check(self, number: int) -> None:
        """Fail with the smallest case found that still differs."""
        case, name = self.sample(number), f"case {number}"
        with_reasons = number % 4 == 1
        expected = expected_of(case, reasons=with_reasons)
        fail_if_different(name, case, found=differences(case, expected=expected))
        if with_reasons:
            fail_if_different(name, case, reason_differences, reason_differences(case, expected))

    def check_in_python(self, number: int) -> None:
        """Check a case whose rule and allocator are written in Python as well."""
        # The names of a case are those that the reference knows.
        case: Any = self.sample(number)
        # Written in Python, a rule reserves for jobs over a limit too, and those out of their reservations;
        # it preempts none.
        machine = case.machine
        is_plain = not machine.limits and not machine.reservations and machine.preemption is None
        # It knows nothing of partitions: where they are separate, others hold up fewer jobs than it does.
        is_plain = is_plain and _is_one_queue(case)
        if case.backfill in SCHEDULERS and is_plain:
            scheduler = SCHEDULERS[case.backfill](case.reservations)
            policy = bl.Policy(case.order_text, allocator=case.allocator, scheduler=scheduler)
            _check(case, f"case {number}", policy, expected_of(case, asked_at_timers=True))
        if case.backfill == "conservative" and len(case.jobs) > SHORT:
            return  # The reference is slow there.
        name, kinds = [*PYTHON_ALLOCATORS.items()][number % len(PYTHON_ALLOCATORS)]
        case = replace(case, allocator=name)
        expected = expected_of(case)
        for kind in kinds:
            policy = bl.Policy(case.order_text, case.backfill, kind(), case.reservations)
            _check(case, f"case {number} with {name}", policy, expected)


def _is_one_queue(case: Case) -> bool:
    """Return whether a job that does not fit holds up all others, or may have the only reservation."""
    partitions = case.machine.partitions
    separate = {each.nodes for each in partitions} if case.backfill == "none" else connected(partitions)
    return len(separate) <= 1


def until_enough(numbers: range, is_enough: Callable[[], bool]) -> Iterator[int]:
    """Give numbers of cases until what they are to show has been seen often enough."""
    return takewhile(lambda _: not is_enough(), numbers)


def _check(case: Case, name: str, policy: bl.Policy, expected: Expected) -> None:
    found = differences(case, policy, expected)
    fail_if_different(f"{name}: {policy}", case, lambda smaller: differences(smaller, policy), found)
