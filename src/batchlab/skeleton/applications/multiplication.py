"""Multiplication of dense n × n matrices of float64 on a square of ranks.

Cannon, PhD thesis, Montana State University (1969); van de Geijn and Watts, "SUMMA" (Concurrency 9(4), 1997).
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from batchlab.skeleton.grid import balanced_dims, cartesian

if TYPE_CHECKING:
    from batchlab.skeleton.communicator import Communicator

__all__ = ["cannon", "summa"]

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
