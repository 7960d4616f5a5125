"""Made-up logs of any length, a block at a time: for measuring cost, not for publications.

Sizes are powers of two, run times lognormal, requests up to five times the run time, arrivals Poisson.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

BLOCK = 50_000
_SURGE = 4
_MEDIAN_RUN, _SPREAD, _LONGEST = 1800.0, 1.2, 172_800


class Block(NamedTuple):
    """Times in whole seconds, and processors; one element per job."""

    submit_time: Integers
    run_time: Integers
    requested_time: Integers
    processors: Integers


class Recipe(NamedTuple):
    """What to make: `load` is offered to a machine of `capacity` processors by jobs of up to `largest`.

    With `wave` jobs to a wave, four times what the machine can do arrives in the first part of each wave and
    nothing in the rest of it: about three quarters of its jobs are queued at its worst, and none at its end.
    """

    jobs: int
    capacity: int
    largest: int
    load: float = 0.9
    wave: int | None = None
    seed: int = 0


def blocks(recipe: Recipe) -> Iterator[Block]:
    """Give a log's jobs in the order of submission; the same for the same recipe."""
    sample = _sizes_and_runs(np.random.default_rng(recipe.seed), 1_000_000, recipe.largest)
    gap = float((sample[0] * sample[1]).mean()) / (recipe.capacity * recipe.load)
    random = np.random.default_rng(recipe.seed + 1)
    origin = 0.0
    for first in range(0, recipe.jobs, BLOCK):
        count = min(BLOCK, recipe.jobs - first)
        processors, run_time = _sizes_and_runs(random, count, recipe.largest)
        instants = origin + random.exponential(gap, count).cumsum()
        origin = float(instants[-1])
        if recipe.wave:
            period = recipe.wave * gap
            instants = instants - instants % period * (1 - recipe.load / _SURGE)
        requested_time = np.ceil(run_time * random.uniform(1, 5, count)).astype(np.int64)
        yield Block(instants.astype(np.int64), run_time, requested_time, processors)


def write_log(recipe: Recipe, path: Path) -> None:
    """Write a log in SWF."""
    with path.open("w", encoding="ascii") as file:
        file.write("; generated\n")
        number = 0
        for block in blocks(recipe):
            for submit, run, requested, processors in zip(
                *(column.tolist() for column in block), strict=True
            ):
                number += 1
                file.write(f"{number} {submit} -1 {run} {processors} -1 -1 {processors} {requested}")
                file.write(" -1 1 1 1 -1 -1 -1 -1 -1\n")


def _sizes_and_runs(random: np.random.Generator, count: int, largest: int) -> tuple[Integers, Integers]:
    exponents = random.integers(0, largest.bit_length(), count)
    runs = random.lognormal(np.log(_MEDIAN_RUN), _SPREAD, count).clip(1, _LONGEST)
    return np.int64(1) << exponents, runs.astype(np.int64)
