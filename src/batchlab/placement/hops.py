"""Hops: how many links between routers lie between the nodes of a job.

A node's own link does not count: on one router, switch or blade there are no hops.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from batchlab.placement.layout import layout_of
from batchlab.platform import Dragonfly, Torus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from batchlab.platform import Platform
    from batchlab.system import System

__all__ = ["Hops", "distance", "hops"]


class Hops(NamedTuple):
    """Hops of some messages.

    Attributes
    ----------
    messages
        How many messages there are.
    total
        The sum of their hops.
    most
        The most hops of one message.
    """

    messages: int
    total: int
    most: int

    @property
    def mean(self) -> Fraction:
        """The mean, exactly; 0 where there are no messages."""
        return Fraction(self.total, self.messages) if self.messages else Fraction(0)


def hops(system: System, nodes: Sequence[int], messages: Iterable[tuple[int, int]] | None = None) -> Hops:
    """Count the hops of the messages of a job.

    Parameters
    ----------
    system
        A system on a platform whose nodes are one cluster.
    nodes
        The node of each rank: the nodes of a job where ranks are one per node, or what `packed` and others
        give.
    messages
        Pairs of ranks, source and target; each pair of ranks once unless given.

    Returns
    -------
    Hops
        Messages between ranks of one node, and of nodes at one router, have none.

    Raises
    ------
    PlatformError
        If the nodes are not connected by one topology.

    Examples
    --------
    >>> import batchlab as bl
    >>> system = bl.System.of(bl.Platform.torus((4, 2, 2), bandwidth="5GBps"))
    >>> bl.placement.hops(system, [0, 1, 8, 9]).mean
    Fraction(4, 3)
    """
    between = distance(system)
    total = most = count = 0
    for one, other in combinations(range(len(nodes)), 2) if messages is None else messages:
        found = between(nodes[one], nodes[other])
        total += found
        most = max(most, found)
        count += 1
    return Hops(count, total, most)


def distance(system: System) -> Callable[[int, int], int]:
    """Give the function that counts the hops from one node of a system to another.

    Raises
    ------
    PlatformError
        If the nodes are not connected by one topology.
    """
    layout = layout_of(system)
    point = cache(layout.coordinates)
    match layout.topology:
        case Torus():
            sizes = layout.levels
            return lambda one, other: _around(point(one), point(other), sizes)
        case Dragonfly():
            return _over_routes(system)
        case _:
            return lambda one, other: _over_levels(point(one), point(other))


def _around(one: tuple[int, ...], other: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """Go the shorter way round in each dimension; the lowest level is that of the nodes of a router."""
    total = 0
    for a, b, size in zip(one[1:], other[1:], sizes[1:], strict=True):
        apart = abs(a - b)
        total += min(apart, size - apart)
    return total


def _over_levels(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Go up to the lowest switch that is above both, and down again."""
    differing = [level for level, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    return 2 * max(differing, default=0)


def _over_routes(system: System) -> Callable[[int, int], int]:
    """Count the links of a route but those of the two nodes, and what is no cable."""
    platform: Platform = system.platform  # type: ignore[assignment]  # it has a layout
    names = system.hosts

    def between(one: int, other: int) -> int:
        if one == other:
            return 0
        links = platform.route(names[one], names[other]).links
        return len([link for link in links if not link.endswith("_limiter")]) - 2

    return between
