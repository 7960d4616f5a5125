"""The built-in message-passing applications: patterns, stencils, matrix multiplication and solvers."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.skeleton.communicator import balanced_dims, cartesian

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.skeleton.communicator import CartesianCommunicator, Communicator


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


def stencil_2d(
    world: Communicator,
    *,
    size: float = 512,
    iterations: int = 1,
    sides: Sequence[int] | None = None,
    periodic: bool = True,
    seconds: float = 0.0,
) -> None:
    """Compute, exchange with the neighbours in a rectangle x × y, and synchronise by a barrier."""
    sides = sides or balanced_dims(world.size, 2)
    _stencil(world, sides, size=size, iterations=iterations, periodic=periodic, seconds=seconds)


def stencil_3d(
    world: Communicator,
    *,
    size: float = 512,
    iterations: int = 1,
    sides: Sequence[int] | None = None,
    periodic: bool = True,
    seconds: float = 0.0,
) -> None:
    """Compute, exchange with the neighbours in a box x × y × z, and synchronise by a barrier."""
    sides = sides or balanced_dims(world.size, 3)
    _stencil(world, sides, size=size, iterations=iterations, periodic=periodic, seconds=seconds)


def _stencil(
    world: Communicator,
    sides: Sequence[int],
    *,
    size: float,
    iterations: int,
    periodic: bool,
    seconds: float,
) -> None:
    grid = cartesian(world, [*reversed(sides)], periodic=periodic)
    for _ in range(iterations):
        grid.compute(seconds)
        exchange_with_neighbours(grid, size)
        grid.barrier()


_BYTES = 8


def cannon(world: Communicator, n: int, seconds_per_step: float = 0.0) -> None:
    """Shift blocks of one factor along rows and blocks of the other along columns: Cannon's algorithm.

    `seconds_per_step` is the time of an innermost step; a block has ``(n / side)**3`` steps.
    """
    side = isqrt(world.size)
    if side * side != world.size:
        raise world.error("cannon", f"{world.size} ranks; must be a square")
    grid = cartesian(world, (side, side), periodic=True)
    row, column = grid.coordinates
    block = (n / side) ** 2 * _BYTES
    for dimension, by in ((1, -row), (0, -column)):
        if by:
            source, target = grid.shift(dimension, by)
            grid.sendrecv(target, block, source)
    for step in range(side):
        grid.compute((n / side) ** 3 * seconds_per_step)
        if step < side - 1:
            for dimension in (1, 0):
                source, target = grid.shift(dimension, -1)
                grid.sendrecv(target, block, source)


def summa(world: Communicator, n: int, panel: int = 64, seconds_per_step: float = 0.0) -> None:
    """Broadcast panels of columns along rows, and panels of rows along columns: SUMMA."""
    grid = cartesian(world, balanced_dims(world.size, 2))
    rows, columns = grid.dims
    along_row, along_column = grid.line(1), grid.line(0)
    for first in range(0, n, panel):
        width = min(panel, n - first)
        along_row.bcast(n / rows * width * _BYTES, first * columns // n)
        along_column.bcast(n / columns * width * _BYTES, first * rows // n)
        grid.compute(n / rows * (n / columns) * width * seconds_per_step)


_NUMBER, _COMPLEX = 8, 16
_STENCIL, _VECTORS, _BUTTERFLY = 27, 10, 5


def conjugate_gradient(
    world: Communicator, n: int = 64, iterations: int = 10, seconds_per_flop: float = 0.0
) -> None:
    """Iterate like conjugate gradients on a grid of n × n × n points per rank, as in HPCG.

    Each iteration exchanges faces with the neighbours in a box, multiplies by a matrix with 27 points, and
    reduces two scalar products to all ranks.
    """
    grid = cartesian(world, balanced_dims(world.size, 3))
    for _ in range(iterations):
        exchange_with_neighbours(grid, n * n * _NUMBER)
        grid.compute(2 * _STENCIL * n**3 * seconds_per_flop)
        grid.allreduce(_NUMBER)
        grid.compute(_VECTORS * n**3 * seconds_per_flop)
        grid.allreduce(_NUMBER)


def fft(world: Communicator, n: int = 128, iterations: int = 1, seconds_per_flop: float = 0.0) -> None:
    """Transform n × n × n complex numbers in pencils, with transposes along rows and columns of ranks.

    Three passes of ``5 n^3 log2(n)`` operations; between them each rank exchanges its part with its row, then
    with its column (alltoall).
    """
    grid = cartesian(world, balanced_dims(world.size, 2))
    lines = [grid.line(1), grid.line(0)]
    points = n**3 / world.size
    for _ in range(iterations):
        for line in (*lines, None):
            grid.compute(_BUTTERFLY * points * log2(n) * seconds_per_flop)
            if line is not None:
                line.alltoall(points * _COMPLEX / line.size)


APPLICATIONS: Sequence[Callable[..., None]] = (
    *(even_odd, matrix, random, ring, time_keeper),
    *(stencil_2d, stencil_3d),
    *(cannon, summa),
    *(conjugate_gradient, fft),
)
"""The functions of all applications."""
