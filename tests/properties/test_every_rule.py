"""Every order, backfilling rule and allocator of the kernel's tables is that of the reference.

A new rule is tried here as soon as it is in its table. The tuples of `support.schedule_cases` have the
rules of the cases whose digests are recorded, and stay as they are.
"""

from dataclasses import replace
from random import Random

import pytest

from batchlab.policy import ALLOCATORS, BACKFILLS, ORDERS
from support import schedule_cases
from support.mapping_cases import connected
from support.schedule_cases import Case, random_case
from support.schedule_runs import fail_if_different

CASES = 24
# Of the rules that test_kernel_equals_reference.py tries in all combinations.
FEWER = 3
COMBINED = {*schedule_cases.ORDERS, *schedule_cases.BACKFILLS, *schedule_cases.ALLOCATORS}
# These take more than the random cases here have; the tests named try them.
ELSEWHERE = {
    "expression": "properties.test_kernel_equals_reference",
    "multifactor": "properties.test_priorities",
    "reject": "properties.test_kernel_equals_reference",
    "sbp": "properties.test_rankings",
    "slurm": "properties.test_slurm_runs",
}
ARGUMENTS = {"blocks": "blocks(2)", "dual_end": "dual_end(threshold=20)"}


def numbers(name: str) -> range:
    """Return the numbers of the cases of a rule."""
    return range(FEWER if name in COMBINED else CASES)


def case_of(name: str, number: int) -> Case:
    """Return a random case of a rule."""
    random = Random(f"{name}/{number}")  # noqa: S311 - no secret
    case = random_case(random)
    if case.backfill == "reject":
        case = replace(case, backfill="none")
    return case


@pytest.mark.parametrize("name", sorted(ORDERS.keys() - ELSEWHERE))
def test_every_order(name: str) -> None:
    """Job by job and node by node."""
    for number in numbers(name):
        case = replace(case_of(name, number), order=name, order_argument=7 if name == "random" else None)
        fail_if_different(f"case_of({name!r}, {number})", case)


@pytest.mark.parametrize("name", sorted(BACKFILLS.keys() - ELSEWHERE))
def test_every_backfilling_rule(name: str) -> None:
    """Job by job and node by node."""
    for number in numbers(name):
        case = case_of(name, number)
        reservations = case.reservations if name == "easy" else 1
        case = replace(case, backfill=name, reservations=reservations)
        fail_if_different(f"case_of({name!r}, {number})", case)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_every_allocator(name: str) -> None:
    """Job by job and node by node, on a network if the allocator needs one."""
    for number in numbers(name):
        case = case_of(name, number)
        if ALLOCATORS[name].needs:
            network = connected_by(name, case, number).machine.network
            case = replace(case, machine=replace(case.machine, network=network))
        case = replace(case, allocator=ARGUMENTS.get(name, name))
        fail_if_different(f"case_of({name!r}, {number})", case)


def connected_by(name: str, case: Case, number: int) -> Case:
    """Return the case on a random network of a kind that the allocator takes."""
    for attempt in range(1000):
        found = connected(case, Random(f"{number}/{attempt}"))  # noqa: S311 - no secret
        network = found.machine.network
        if network is not None and (ALLOCATORS[name].needs != "torus" or network.kind == "torus"):
            return found
    raise AssertionError(name)
