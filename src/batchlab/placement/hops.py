"""Hops of the messages of a job: links between routers, as counted by `batchlab.platform.hops`."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from batchlab.core.arguments import checked
from batchlab.errors import PlatformError
from batchlab.platform import hops as hops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from batchlab.system import System

__all__ = ["Hops", "distance", "hops"]


class Hops(NamedTuple):
    """Hops of messages.

    Attributes
    ----------
    messages
        Number of messages.
    total
        Sum of their hops.
    most
        Maximum number of hops of a message.
    """

    messages: int
    total: int
    most: int

    @property
    def mean(self) -> Fraction:
        """The exact mean number of hops; 0 without messages."""
        return Fraction(self.total, self.messages) if self.messages else Fraction(0)


@checked(PlatformError)
def hops(system: System, nodes: Sequence[int], messages: Iterable[tuple[int, int]] | None = None) -> Hops:
    """Count the hops of the messages of a job.

    Parameters
    ----------
    system
        A system on a platform.
    nodes
        The node of each rank: the nodes of a job with one rank per node, or the result of `packed` and
        similar functions.
    messages
        Pairs of ranks, source and target. [default: each pair of ranks once]

    Returns
    -------
    Hops
        Messages between ranks of one node, or between nodes of one router, have no hops.

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


@checked(PlatformError)
def distance(system: System) -> Callable[[int, int], int]:
    """Return a function that counts the hops between two nodes of a system (`batchlab.platform.hops`).

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
