"""Stencils: exchanges with the neighbours in a grid; x varies fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.skeleton.applications.patterns import exchange_with_neighbours
from batchlab.skeleton.grid import balanced_dims, cartesian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.skeleton.communicator import Communicator

__all__ = ["stencil_2d", "stencil_3d"]


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
