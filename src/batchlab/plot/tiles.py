"""Flat layouts of machines: routers in rows and columns, slice by slice, and the nodes at each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.errors import PlatformError
from batchlab.placement.layout import layout_of
from batchlab.platform import Dragonfly, FatTree, Torus
from batchlab.plot.canvas import INK

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.system import System

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["Tiles", "tiles_of"]

_WIDE = 1.6
_GAP = 1.2
_MOST_TICKS = 12
_MOST_APART = 80


@dataclass(frozen=True)
class Tiles:
    """The positions at which routers and nodes are drawn.

    Parameters
    ----------
    levels
        The numbers of nodes at a router, of routers along x and y, and of slices; each at least 1.
    places
        int64: the number of each node of the system in that order, nodes of a router first.
    names
        The names of x, of y and of a slice.
    """

    levels: tuple[int, int, int, int]
    places: Integers
    names: tuple[str, str, str]

    @property
    def slices(self) -> int:
        """The number of tiles."""
        return self.levels[3]

    @cached_property
    def columns(self) -> int:
        """The number of tiles side by side, such that all together are wider than high."""
        _, x, y, slices = self.levels
        most = min(slices, max(1, math.ceil(math.sqrt(slices * _WIDE * (y + _GAP) / (x + _GAP)))))
        # As few as the same number of rows needs.
        return math.ceil(slices / math.ceil(slices / most))

    def corner(self, number: Integers) -> tuple[Floats, Floats]:
        """Return the lower left corners of slices; the first is at the top left."""
        _, x, y, _ = self.levels
        row, column = np.divmod(number, self.columns)
        return column * (x + _GAP), -row * (y + _GAP)

    def routers(self, number: Integers) -> tuple[Floats, Floats]:
        """Return the centres of routers by their numbers: those along x first, then y, then slices."""
        _, x, y, _ = self.levels
        left, low = self.corner(number // (x * y))
        return left + number % x + 0.5, low + number // x % y + 0.5

    def nodes(self) -> tuple[Floats, Floats, float, float]:
        """Return the lower left corners of the nodes of the system, their width and their height."""
        here = self.levels[0]
        across = math.ceil(math.sqrt(here))
        down = math.ceil(here / across)
        router, own = np.divmod(self.places, here)
        x, y = self.routers(router)
        # There is a small gap between routers, unless it would be less than a point.
        side = 0.9 if self.levels[1] * self.columns <= _MOST_APART else 1.0
        width, height = side / across, side / down
        return x - side / 2 + own % across * width, y - side / 2 + own // across * height, width, height

    def dress(self, ax: Axes) -> None:
        """Name the axes and the slices."""
        _, x, y, slices = self.levels
        rows = math.ceil(slices / self.columns)
        ax.set_aspect("equal")
        ax.set_xlim(-0.4, self.columns * (x + _GAP) - _GAP + 0.4)
        ax.set_ylim(-(rows - 1) * (y + _GAP) - 0.4, y + (_GAP if slices > 1 else 0.4))
        unit = self.names[2] if len(self.names[2]) > 1 else "slice"
        inside = f" in each {unit}" if slices > 1 else ""
        ax.set_xlabel(self.names[0] + inside)
        ax.set_ylabel(self.names[1] + inside)
        for ticks, count in ((ax.set_xticks, x), (ax.set_yticks, y)):
            shown = range(0, count, -(-count // _MOST_TICKS)) if slices == 1 and self.names[2] else ()
            ticks([place + 0.5 for place in shown], [str(place) for place in shown])
        for number in range(slices if slices > 1 else 0):
            left, low = self.corner(np.array(number))
            name = f"{self.names[2]} {number}" if len(self.names[2]) > 1 else f"{self.names[2]} = {number}"
            ax.text(
                float(left) + x / 2,
                float(low) + y + 0.1,
                name,
                ha="center",
                va="bottom",
                color=INK,
                fontsize="x-small",
            )


def tiles_of(system: System) -> Tiles:
    """Lay out the nodes of a system: by its topology if it has one, else by number, row by row."""
    count = system.nodes
    plain = Tiles(_row_by_row(count), np.arange(count), ("nodes by number", "row by row", ""))
    try:
        layout = layout_of(system)
    except PlatformError:
        return plain
    levels = [*layout.levels, 1, 1]
    names = {
        Torus: ("x", "y", "z" if len(layout.levels) <= 4 else "slice"),  # noqa: PLR2004  # nodes and x, y, z
        Dragonfly: ("blade", "chassis", "group"),
        FatTree: ("switch on level 1", "on level 2", "part"),
    }.get(type(layout.topology))
    if names is None:
        return plain
    return Tiles((levels[0], levels[1], levels[2], math.prod(levels[3:])), np.array(layout.places), names)


def _row_by_row(count: int) -> tuple[int, int, int, int]:
    across = max(1, math.ceil(math.sqrt(count * _WIDE)))
    return 1, across, max(1, math.ceil(count / across)), 1
