"""Random task mappings for random cases (S22)."""

import random
from dataclasses import replace
from math import prod

from reference.networks import Network
from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import BACKFILLS, Case, disturbed, grouped, random_case
from support.sleep_cases import sleeping

__all__ = ["connected", "mapped", "random_allocator", "varied"]


def varied(number: int, *, most: int | None = None) -> tuple[Case, random.Random]:
    """Make a case: each rule of backfilling in turn, all kinds of machines and events; and more chance.

    With `most`, it has no more jobs: for long queues that are planned, the reference takes O(q³).
    """
    rng = random.Random(number)  # noqa: S311 - no secret
    case = random_case(rng, large=0.05)
    while case.backfill != BACKFILLS[number % len(BACKFILLS)]:
        case = random_case(rng, large=0.05)
    case = replace(case, jobs=case.jobs[:most])
    if rng.random() < 0.3:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.3 else case
        case = reserved(case, rng) if rng.random() < 0.5 else case
    elif rng.random() < 0.3:
        case = grouped(case, rng)
    case = delayed(case, rng) if rng.random() < 0.2 else case
    if rng.random() < 0.2:
        case = eventful(case, rng)
    elif rng.random() < 0.3:
        case = disturbed(case, rng)
    return (sleeping(case, rng) if rng.random() < 0.15 else case), rng


def mapped(case: Case, rng: random.Random) -> Case:
    """Give a case a mapping in place of its allocator."""
    return replace(case, allocator=random_allocator(case, rng))


def connected(case: Case, rng: random.Random) -> Case:
    """Give a case a network, and an allocator that goes by it."""
    nodes = len(case.machine.capacity)
    rule = rng.choice(("compact", "compact", "hop_bytes", "fewest_groups", "sub_torus", "sub_torus"))
    kind = "torus" if rule == "sub_torus" else rng.choice(("torus", "tree", "dragonfly"))
    levels = {"torus": rng.randint(2, 4), "tree": rng.randint(1, 3), "dragonfly": 4}[kind]
    sizes = [1] * levels
    while prod(sizes) < nodes or (kind == "dragonfly" and sizes[3] > sizes[1] * sizes[2]):
        level = rng.randrange(levels)
        sizes[level] += level < 3 or sizes[3] < sizes[1] * sizes[2]
    # Some places may be those of no node.
    places = sorted(rng.sample(range(prod(sizes)), nodes))
    if rng.random() < 0.3:
        rng.shuffle(places)
    arguments = []
    if rule == "compact":
        arguments = [f"by={rng.choice(('mean_hops', 'diameter'))}", f"centres={rng.choice((1, 2, 3, 64))}"]
    elif rule == "hop_bytes":
        arguments = [f"centres={rng.choice((1, 2, 3, 64))}"]
    if rng.random() < 0.3:
        arguments.append(f"order=random({rng.randint(0, 9)})")
    network = Network(kind, tuple(sizes), tuple(places))
    allocator = f"{rule}({', '.join(arguments)})" if arguments else rule
    return replace(case, machine=replace(case.machine, network=network), allocator=allocator)


def random_allocator(case: Case, rng: random.Random) -> str:
    """Write an allocator that goes by an order of the nodes."""
    rule = rng.choice(
        ("first_fit", "contiguous", "round_robin", "round_robin", "dual_end", "dual_end", "blocks")
    )
    order = "index" if rng.random() < 0.3 and rule not in {"first_fit", "contiguous"} else "random"
    arguments = [] if order == "index" else [f"order=random({rng.randint(0, 9)})"]
    blocks = rng.choice((1, 2, 2, 3, 5, 9))
    if rule == "blocks":
        arguments = [str(blocks), *arguments, *rng.choice(((), ("of=machine",)))]
    elif rule == "round_robin" and rng.random() < 0.4:
        arguments.append(f"blocks={blocks}")
    elif rule == "dual_end" and rng.random() < 0.5:
        times = [job.requested_time for job in case.jobs]
        arguments.append(f"threshold={rng.choice(times)}")
    elif rule == "dual_end":
        arguments += [f"threshold={rng.randint(1, 4)}", "by=nodes"]
    return f"{rule}({', '.join(arguments)})" if arguments else rule
