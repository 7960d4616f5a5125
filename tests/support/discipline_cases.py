"""Random cases under disciplines, on systems on which totals decide and on others."""

import random
from dataclasses import replace

from reference import Machine
from reference.disciplines import DISCIPLINES
from support.event_cases import delayed, eventful
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import ALLOCATORS, Case, disturbed, grouped, random_case, random_jobs

__all__ = ["NAMES", "discipline_case", "power_of_two_case", "slow_case"]

NAMES = tuple(DISCIPLINES)


def discipline_case(number: int) -> Case:
    """Make a case; the disciplines take turns."""
    rng = random.Random(f"disciplines/{number}")  # noqa: S311 - no secret
    case = random_case(rng, large=0.05)
    if rng.random() < 0.4:
        nodes, cores = rng.choice(((1, rng.randint(1, 6)), (rng.randint(1, 6), 1)))
        machine = Machine(("core",), [(cores,)] * nodes)
        jobs = random_jobs(rng, machine, rng.randint(1, 25), plain=True)
        case = replace(case, machine=machine, jobs=jobs)
    case = replace(
        case,
        order="fcfs",
        order_argument=None,
        backfill=NAMES[number % len(NAMES)],
        reservations=1,
        allocator=rng.choice(("first_fit", "first_fit", *ALLOCATORS)),
    )
    if rng.random() < 0.2:
        case = grouped(case, rng)
    if rng.random() < 0.4:
        case = suspended_slowly(delayed(case, rng), rng)
    if rng.random() < 0.25:
        case = disturbed(case, rng)
    elif rng.random() < 0.25:
        case = eventful(case, rng)
    if rng.random() < 0.15:
        case = queued(case, rng)
        case = limited(case, rng) if rng.random() < 0.7 else reserved(case, rng)
    return case


def slow_case(number: int) -> Case:
    """Make a case under another rule in which observers suspend jobs, which takes time."""
    rng = random.Random(f"slow/{number}")  # noqa: S311 - no secret
    case = delayed(random_case(rng), rng)
    return disturbed(suspended_slowly(case, rng), rng)


def suspended_slowly(case: Case, rng: random.Random) -> Case:
    """Let it take time to suspend some jobs and to resume them."""
    if case.overheads is None or rng.random() < 0.3:
        return case
    longest = rng.choice((2, 10))
    of_job = tuple(
        replace(each, suspend=float(rng.randint(0, longest)), resume=float(rng.randint(0, longest)))
        for each in case.overheads.of_job
    )
    return replace(case, overheads=replace(case.overheads, of_job=of_job))


def power_of_two_case(number: int) -> Case:
    """Make a case on one node, of which the cores and all requests are powers of two."""
    rng = random.Random(f"powers of two/{number}")  # noqa: S311 - no secret
    most = rng.randint(0, 5)
    machine = Machine(("core",), [(2**most,)])
    jobs = tuple(
        replace(job, tasks=2 ** rng.randint(0, most), request=(1,))
        for job in random_jobs(rng, machine, rng.randint(5, 40), plain=True)
    )
    return Case(jobs, machine, backfill=rng.choice(("server_filling", "server_filling_srpt")))
