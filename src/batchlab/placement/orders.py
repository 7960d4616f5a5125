"""Orders of nodes: each function returns all node numbers of a system, each once (S22).

On a torus, the nodes of a router are adjacent.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from batchlab.core.arguments import checked
from batchlab.core.rules import is_whole
from batchlab.errors import PlatformError, shown
from batchlab.platform import Torus
from batchlab.platform.hops import clusters
from batchlab.system import System

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.platform import Platform, Topology

__all__ = [
    "AXES",
    "Layout",
    "axes_order",
    "box_order",
    "hilbert_order",
    "layout_of",
    "level_order",
    "number_of",
    "random_order",
]


@dataclass(frozen=True)
class Layout:
    """The topology that connects the nodes of a system, and the position of each node.

    Parameters
    ----------
    topology
        The topology.
    places
        For each node of the system, its index in the topology.
    """

    topology: Topology
    places: tuple[int, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """The sizes of the levels, the lowest first, as `Topology.levels`; a crossbar has one."""
        return self.topology.levels or (max(self.places, default=0) + 1,)

    def coordinates(self, node: int) -> tuple[int, ...]:
        """Return the coordinates of a node, the lowest level first."""
        return self.topology.coordinates(self.places[node])

    def torus(self) -> Torus:
        """Return the topology, after checking that it is a torus.

        Raises
        ------
        PlatformError
            If it is not a torus.
        """
        if not isinstance(self.topology, Torus):
            kind = type(self.topology).__name__
            raise PlatformError(f"the nodes are connected by a {kind}; this needs a Torus.")
        return self.topology


def number_of(coordinates: Sequence[int], sizes: Sequence[int], order: Sequence[int]) -> int:
    """Return the index of a point in a box; the first dimension of the order varies fastest."""
    number, weight = 0, 1
    for dimension in order:
        number += weight * coordinates[dimension]
        weight *= sizes[dimension]
    return number


def layout_of(system: System | Platform) -> Layout:
    """Find the topology that connects the nodes of a system, or all compute hosts of a platform.

    Raises
    ------
    PlatformError
        If the system has no platform, or its nodes are not all in one cluster.
    """
    platform, names = (system.platform, system.hosts) if isinstance(system, System) else (system, ())
    if platform is None:
        rule = "this asks how the nodes are connected: use System.of(platform), e.g. of bl.Platform.torus"
        raise PlatformError(f"the system has no platform; {rule}.")
    names = names or tuple(host.name for host in platform.nodes)
    for cluster in clusters(platform.root):
        places = {
            f"{cluster.prefix}{number}{cluster.suffix}": place for place, number in enumerate(cluster.numbers)
        }
        if names[0] not in places:
            continue
        outside = next((name for name in names if name not in places), None)
        if outside is None:
            return Layout(cluster.topology, tuple(places[name] for name in names))
        rule = "this asks for nodes that one topology connects"
        raise PlatformError(f"node {outside!r} is not in cluster {cluster.name!r} as others are; {rule}.")
    raise PlatformError(
        "the nodes are not those of a cluster; this asks for nodes that one topology connects."
    )


AXES = ("xyz", "abcdefghij")
"""The names of the dimensions of a torus: for up to three dimensions, and for more."""

_WORD = 2**64 - 1
_MOST_NODES = 100_000_000


def random_order(nodes: int, seed: int) -> list[int]:
    """Shuffle the nodes by a hash of the seed and the node number.

    Parameters
    ----------
    nodes
        Number of nodes.
    seed
        From 0 to 2^64 - 1.

    Raises
    ------
    PlatformError
        If a number is not a whole number in its range; there are at most 100 million nodes.
    """
    for name, value, most in (("nodes", nodes, _MOST_NODES), ("seed", seed, _WORD)):
        if not is_whole(value) or not 0 <= value <= most:
            raise PlatformError(f"{name} = {shown(value)}; must be a whole number from 0 to {most}.")
    return sorted(range(nodes), key=lambda node: (_mix(seed, node), node))


@checked(PlatformError)
def axes_order(system: System, axes: str) -> list[int]:
    """Order the nodes of a torus by their coordinates.

    Parameters
    ----------
    system
        A system on a platform whose nodes are one torus.
    axes
        Each dimension once, the fastest first: ``"xyz"``, ``"zxy"``; ``"abcde"`` in five dimensions.

    Raises
    ------
    PlatformError
        If the nodes do not form a torus, or the axes are not its dimensions.
    """
    sizes = layout_of(system).torus().dimensions
    order = _dimensions(axes, len(sizes))
    return _by_router(system, lambda point: number_of(point, sizes, order))


@checked(PlatformError)
def box_order(system: System, sides: Sequence[int], axes: str | None = None) -> list[int]:
    """Order the nodes of a torus box by box, and by node number within a box.

    Parameters
    ----------
    system
        As for `axes_order`.
    sides
        The sides of a box, in routers; each divides the size of its dimension.
    axes
        Order of the boxes, as for `axes_order`. [default: the order of the dimensions]

    Raises
    ------
    PlatformError
        As for `axes_order`; or if a side does not divide its dimension.

    Notes
    -----
    The Cartesian splitting of M. A. Obaida and J. Liu, Simulation of HPC job scheduling and large-scale
    parallel workloads, WSC 2017, section 2.2.2.
    """
    sizes = layout_of(system).torus().dimensions
    if len(sides) != len(sizes):
        raise PlatformError(f"boxes{_listed(sides)}: needs {len(sizes)} sides, one for each dimension.")
    for side, size in zip(sides, sizes, strict=True):
        if side < 1 or size % side:
            rule = f"each side must divide the size of its dimension; the torus is {_listed(sizes)}"
            raise PlatformError(f"boxes{_listed(sides)}: side {side} does not divide {size}; {rule}.")
    counts = [size // side for side, size in zip(sides, sizes, strict=True)]
    order = range(len(sizes)) if axes is None else _dimensions(axes, len(sizes))

    def key(point: Sequence[int]) -> tuple[int, int]:
        box = [each // side for each, side in zip(point, sides, strict=True)]
        return number_of(box, counts, order), number_of(point, sizes, range(len(sizes)))

    return _by_router(system, key)


@checked(PlatformError)
def hilbert_order(system: System) -> list[int]:
    """Order the nodes of a torus along a Hilbert curve through an enclosing cube with a power of two as side.

    Points of the cube outside the torus are skipped, so a step across them may be longer than one hop.

    Parameters
    ----------
    system
        As for `axes_order`.

    Raises
    ------
    PlatformError
        If the nodes do not form a torus.

    Notes
    -----
    J. Skilling, Programming the Hilbert curve, AIP Conference Proceedings 707, 2004.
    """
    bits = max((size - 1).bit_length() for size in layout_of(system).torus().dimensions)
    return _by_router(system, lambda point: _hilbert_index(list(point), bits))


@checked(PlatformError)
def level_order(system: System, levels: Sequence[int] = ()) -> list[int]:
    """Order the nodes by the levels of their network.

    Parameters
    ----------
    system
        A system on a platform whose nodes are one cluster.
    levels
        Levels, from 1 for the lowest. The first one varies fastest; levels not listed follow from the lowest.
        An empty sequence: the nodes of one switch are adjacent, followed by those of the next switch.

        A fat tree has its own levels; a dragonfly has the nodes of a blade (1), the blades of a chassis (2),
        the chassis of a group (3) and the groups (4); a torus has the nodes of a router (1), and its
        dimensions.

    Raises
    ------
    PlatformError
        If a level does not exist, or is listed twice.
    """
    layout = layout_of(system)
    sizes = layout.levels
    for level in levels:
        if not 1 <= level <= len(sizes) or list(levels).count(level) > 1:
            rule = f"levels are numbers from 1 to {len(sizes)}, each once"
            raise PlatformError(f"levels{_listed(levels)}: {rule}.")
    named = [level - 1 for level in levels]
    order = [*named, *(level for level in range(len(sizes)) if level not in named)]
    nodes = range(len(layout.places))
    return sorted(nodes, key=lambda node: number_of(layout.coordinates(node), sizes, order))


def _by_router(system: System, key: Callable[[tuple[int, ...]], object]) -> list[int]:
    """Sort the nodes by a key of their routers' coordinates, then by their indices."""
    layout = layout_of(system)
    of_router = cache(key)

    def whole(node: int) -> tuple[object, int]:
        return of_router(layout.coordinates(node)[1:]), layout.places[node]

    return sorted(range(len(layout.places)), key=whole)


def _dimensions(axes: str, count: int) -> list[int]:
    """Return the indices of the dimensions in a text."""
    names = next((known for known in AXES if len(known) >= count), AXES[-1])[:count]
    if sorted(axes) != sorted(names):
        example = next("".join(each) for each in itertools.permutations(reversed(names)))
        rule = f"the torus has the dimensions {', '.join(names)}; name each once, e.g. {example}"
        raise PlatformError(f"axes {axes!r}: {rule}.")
    return [names.index(axis) for axis in axes]


def _hilbert_index(point: list[int], bits: int) -> int:
    """Return the index of a point on the curve; `point` is modified."""
    for shift in reversed(range(1, bits)):
        bit = 1 << shift
        for axis in range(len(point)):
            if point[axis] & bit:
                point[0] ^= bit - 1
            else:
                swapped = (point[0] ^ point[axis]) & (bit - 1)
                point[0] ^= swapped
                point[axis] ^= swapped
    for axis in range(1, len(point)):
        point[axis] ^= point[axis - 1]
    flipped = 0
    for shift in reversed(range(1, bits)):
        if point[-1] & 1 << shift:
            flipped ^= (1 << shift) - 1
    index = 0
    for shift in reversed(range(bits)):
        for each in point:
            index = 2 * index + ((each ^ flipped) >> shift & 1)
    return index


def _mix(a: int, b: int) -> int:
    """SplitMix64's finaliser of a + (b + 1)·0x9E3779B97F4A7C15, as in the kernel."""
    z = (a + (b + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def _listed(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))})"
