"""Solvers and transforms with many short messages or few long ones."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from batchlab.skeleton.applications.patterns import exchange_with_neighbours
from batchlab.skeleton.grid import balanced_dims, cartesian

if TYPE_CHECKING:
    from batchlab.skeleton.communicator import Communicator

__all__ = ["conjugate_gradient", "fft"]

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
