"""Random cases with overheads."""

import random
from dataclasses import replace

from reference import Overhead, Overheads
from support.schedule_cases import Case

__all__ = ["delayed"]


def delayed(case: Case, rng: random.Random) -> Case:
    """Give jobs overheads: often none in a phase, sometimes longer than their limits."""
    longest = rng.choice((2, 10, 60))

    def seconds() -> float:
        return 0.0 if rng.random() < 0.4 else float(rng.randint(0, longest))

    of_job = tuple(Overhead(seconds(), seconds(), seconds()) for _ in case.jobs)
    overheads = Overheads(of_job, counted=rng.random() < 0.5, billed=rng.random() < 0.5)
    return replace(case, overheads=overheads)
