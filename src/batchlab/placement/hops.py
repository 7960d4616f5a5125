"""Hops of the messages of a job: links between routers, as `batchlab.platform.hops` counts them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from batchlab.errors import PlatformError
from batchlab.platform import hops as hops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
        A system on a platform.
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
        If the system has no platform.

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
    """Give the function that counts the hops from one node of a system to another (`batchlab.platform.hops`).

    Raises
    ------
    PlatformError
        If the system has no platform.
    """
    platform = system.platform
    if platform is None:
        rule = "hops are those of a platform: use System.of(platform), e.g. of bl.Platform.torus"
        raise PlatformError(f"the system has no platform; {rule}.")
    between, places = hops_of.distance(platform), [platform.number(name) for name in system.hosts]
    return lambda one, other: between(places[one], places[other])
