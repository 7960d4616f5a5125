"""Random task mappings for random cases (S22)."""

import random
from dataclasses import replace

from support.schedule_cases import Case

__all__ = ["mapped", "random_allocator"]


def mapped(case: Case, rng: random.Random) -> Case:
    """Give a case a mapping in place of its allocator."""
    return replace(case, allocator=random_allocator(case, rng))


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
