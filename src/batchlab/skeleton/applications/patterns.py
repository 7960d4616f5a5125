"""Communication patterns with optional computation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.skeleton.communicator import Communicator
    from batchlab.skeleton.grid import CartesianCommunicator

__all__ = ["even_odd", "matrix", "random", "ring", "time_keeper"]


def time_keeper(world: Communicator, seconds: float) -> None:
    """Compute for the given time, without messages."""
    world.compute(seconds)


def even_odd(world: Communicator, size: float = 1_024_000, iterations: int = 1, mutual: bool = False) -> None:
    """Send from each even rank to the next odd rank, and back if `mutual`; then synchronise by a barrier."""
    partner = world.rank ^ 1 if world.rank ^ 1 < world.size else None
    for _ in range(iterations):
        if mutual:
            world.sendrecv(partner, size, partner)
        elif world.rank % 2 == 0:
            world.send(partner, size)
        else:
            world.recv(partner)
        world.barrier()


def ring(world: Communicator, size: float = 1024, iterations: int = 1, seconds: float = 0.0) -> None:
    """Compute, then send to the next rank and receive from the previous one."""
    for _ in range(iterations):
        world.compute(seconds)
        world.sendrecv((world.rank + 1) % world.size, size, (world.rank - 1) % world.size)


def random(world: Communicator, size: float = 1024, iterations: int = 1, seed: int = 0) -> None:
    """Send to random partners: in each iteration each rank sends one message and receives one."""
    for iteration in range(iterations):
        targets, sources = _permutation(world.size, seed, iteration)
        if targets[world.rank] != world.rank:
            world.sendrecv(int(targets[world.rank]), size, int(sources[world.rank]))


def matrix(world: Communicator, sizes: Sequence[Sequence[float]], iterations: int = 1) -> None:
    """Send all messages of a matrix concurrently: ``sizes[i][j]`` bytes from rank i to rank j."""
    rows: Any = np.asarray(sizes, float)
    if rows.shape != (world.size, world.size):
        raise world.error("matrix", f"sizes has the shape {rows.shape}; must be ranks × ranks, {world.size}")
    others = [rank for rank in range(world.size) if rank != world.rank]
    for _ in range(iterations):
        received = [world.irecv(other) for other in others if rows[other, world.rank] > 0]
        sent = [
            world.isend(other, rows[world.rank, other]) for other in others if rows[world.rank, other] > 0
        ]
        world.waitall([*received, *sent])


@lru_cache(maxsize=16)
def _permutation(ranks: int, seed: int, iteration: int) -> tuple[np.ndarray, np.ndarray]:
    targets = np.random.default_rng((seed, iteration)).permutation(ranks)
    return targets, np.argsort(targets)


def exchange_with_neighbours(grid: CartesianCommunicator, size: float) -> None:
    """Exchange messages with the ranks one step away, once each, all concurrently."""
    others = sorted({*grid.neighbours()})
    received = [grid.irecv(other) for other in others]
    grid.waitall([*received, *(grid.isend(other, size) for other in others)])
