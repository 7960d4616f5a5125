"""Random cases in which many jobs wait, on all kinds of machines, with all kinds of events."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import TypeAlias

from reference import Job, Machine
from reference.predictors import PREDICTORS
from support.dependent_cases import conditioned
from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.priority_cases import prioritised, scored
from support.queue_cases import limited, queued, reserved
from support.rate_cases import controlled
from support.schedule_cases import (
    ALLOCATORS,
    FORMULAS,
    ORDERS,
    Case,
    disturbed,
    grouped,
    random_case,
    random_jobs,
    random_machine,
)
from support.sleep_cases import sleeping

__all__ = ["counted_case", "crowded_case", "neighbour_case", "waiting_case"]

Kind: TypeAlias = Callable[[Case, Random], Case]

# A few units are planned by levels, as bits; a hundred times as much by rows, and much more node by node.
FACTORS = (1, 100, 10_000)
PLANNING = ("conservative", "conservative", "conservative", "easy", "easy", "first_fit")
# The reference plans anew for each job that waits, whenever something is disturbed.
LONG = 60


def waiting_case(number: int) -> Case:
    """Give a case in which 15 to 40 jobs wait for up to ten nodes, with amounts of three sizes."""
    random = Random(number)  # noqa: S311 - no secret
    plain = random.random() < 0.4
    machine = random_machine(random, nodes=random.randint(1, 10), plain=plain)
    case = replace(
        random_case(random),
        machine=machine,
        jobs=random_jobs(random, machine, random.randint(15, 40), plain=plain),
        order=random.choice([order for order in ORDERS if order not in ("random", "expression")]),
        order_argument=None,
        backfill=random.choice(("conservative", "conservative", "easy")),
        allocator=ALLOCATORS[number // len(FACTORS) % len(ALLOCATORS)],
    )
    case = replace(case, reservations=random.randint(2, 4) if case.backfill == "easy" else 1)
    if random.random() < 0.2:
        case = conditioned(case, random)
    return multiplied(case, FACTORS[number % len(FACTORS)])


def counted_case(number: int) -> Case:
    """Give a case for `easy` with several reservations in which free totals decide when most jobs fit."""
    random = Random(f"counted/{number}")  # noqa: S311 - no secret
    machine = random_machine(random, nodes=random.randint(1, 12), plain=True)
    case = replace(
        random_case(random),
        machine=machine,
        jobs=random_jobs(random, machine, random.randint(8, 60), plain=True),
        backfill="easy",
        allocator=ALLOCATORS[number % len(ALLOCATORS)],
        reservations=random.randint(2, 6),
    )
    kinds = ((conditioned, 0.1), (preempting, 0.1), (limited, 0.1), (delayed, 0.1), (disturbed, 0.2))
    return varied(ordered(case, random, number), random, kinds)


def neighbour_case(number: int) -> Case:
    """Give a case for `easy` in which most jobs take consecutive nodes whole, often of more than 64."""
    random = Random(f"neighbours/{number}")  # noqa: S311 - no secret
    capacity = random.choice((1, 1, 2))
    machine = Machine(("core",), [(capacity,)] * random.choice((3, 10, 65, 130)))
    most = random.randint(1, len(machine.capacity))
    jobs = tuple(
        replace(
            job,
            request=(capacity,) if random.random() < 0.9 else (1,),
            tasks=random.randint(1, most if random.random() < 0.5 else max(1, most // 6)),
        )
        for job in random_jobs(random, machine, random.randint(8, 50), plain=True)
    )
    case = replace(random_case(random), machine=machine, jobs=jobs, backfill="easy", allocator="contiguous")
    case = replace(case, reservations=random.choice((1, 1, 1, 2)))
    kinds = ((conditioned, 0.1), (preempting, 0.1), (limited, 0.1), (delayed, 0.2), (disturbed, 0.2))
    return varied(ordered(case, random, number), random, kinds)


def varied(case: Case, random: Random, kinds: Iterable[tuple[Kind, float]]) -> Case:
    """Add each of these kinds of rules or events, one after the other, in its share of the cases."""
    for kind, share in kinds:
        case = kind(case, random) if random.random() < share else case
    return case


def multiplied(case: Case, factor: int) -> Case:
    """Give the case with so many times as much of everything on each node, and for each task."""
    capacity = [tuple(amount * factor for amount in node) for node in case.machine.capacity]
    jobs = tuple(replace(job, request=tuple(amount * factor for amount in job.request)) for job in case.jobs)
    return replace(case, jobs=jobs, machine=replace(case.machine, capacity=capacity))


def crowded_case(number: int) -> Case:
    """Give a case in which 10 to 60 jobs, rarely up to 200, wait on a machine with many rules.

    Orders, also those that change while jobs wait, allocators and predictors go through all their
    combinations. Partitions, queues, limits, reservations of the machine, preemption, node groups,
    dependencies, overheads, external events, failures, sleeping nodes and service rates are each in some.
    """
    random = Random(f"crowded/{number}")  # noqa: S311 - no secret
    plain = random.random() < 0.3
    backfill = random.choice(PLANNING)
    machine = random_machine(random, nodes=random.randint(1, 8), plain=plain)
    jobs = random_jobs(random, machine, random_length(random, backfill), plain=plain)
    case = replace(
        random_case(random),
        machine=machine,
        jobs=repeated(jobs, random) if random.random() < 0.3 else jobs,
        backfill=backfill,
        allocator=ALLOCATORS[number % len(ALLOCATORS)],
        reservations=random.randint(1, 5) if backfill == "easy" else 1,
    )
    case = happening(shaped(ordered(case, random, number), random), random)
    if multiplies(case) and random.random() < 0.3:
        return multiplied(case, FACTORS[1 + number % 2])
    return case


def random_length(random: Random, backfill: str) -> int:
    """Give a number of jobs: long queues are rare, since the reference takes long with them."""
    if random.random() < 0.03:
        return random.randint(LONG, 80 if backfill == "conservative" else 200)
    return random.randint(10, random.choice((20, 40, LONG)))


def repeated(jobs: tuple[Job, ...], random: Random) -> tuple[Job, ...]:
    """Let jobs ask for what one of a few of them asks for, as users that submit the same again do."""
    models = random.sample(jobs, min(len(jobs), random.randint(1, 4)))
    pairs = [(job, random.choice(models)) for job in jobs]
    return tuple(
        replace(
            model,
            row=job.row,
            submit_time=job.submit_time,
            run_time=job.run_time if random.random() < 0.5 else model.run_time,
        )
        for job, model in pairs
    )


def ordered(case: Case, random: Random, number: int) -> Case:
    """Choose the order and the predictor; some orders come with accounts, or with scores."""
    if random.random() < 0.15:
        return prioritised(case, random)
    if random.random() < 0.1:
        return scored(case, random)
    arguments: dict[str, int | str] = {
        "random": random.choice((0, 7, 2**64 - 1)),
        "expression": random.choice([*FORMULAS]),
    }
    order = ORDERS[number % len(ORDERS)]
    predictor = random.choice([*PREDICTORS]) if random.random() < 0.3 else "requested"
    return replace(case, order=order, order_argument=arguments.get(order), predictor=predictor)


def shaped(case: Case, random: Random) -> Case:
    """Give the machine rules in some cases: partitions, preemption, limits, reservations, node groups."""
    # Priorities come with partitions, and with users that the accounts know.
    is_queued = 0.0 if case.order == "multifactor" else 0.4
    kinds = ((queued, is_queued), (preempting, 0.2), (limited, 0.3), (reserved, 0.3))
    case = varied(case, random, kinds)
    return grouped(case, random) if random.random() < 0.3 and not case.machine.groups else case


def happening(case: Case, random: Random) -> Case:
    """Let jobs wait for others, take time to start, fail with their nodes, and be changed from outside."""
    kinds = ((conditioned, 0.3), (delayed, 0.2), (disturbed, 0.3), (eventful, 0.3))
    return varied(case, random, (*kinds, (controlled, 0.15), (sleeping, 0.15)))


def multiplies(case: Case) -> bool:
    """Tell whether amounts are named nowhere but on nodes and in requests."""
    machine = case.machine
    return not (machine.limits or machine.accounts or case.node_events or case.order == "multifactor")
