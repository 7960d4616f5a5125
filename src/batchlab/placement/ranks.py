"""Mappings of ranks to the nodes of a job (S22), the hops of their messages, and reordered ranks.

Hops are links between routers, as counted by `batchlab.platform.hops`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab._kernel import map_ranks
from batchlab.core.arguments import checked
from batchlab.errors import PlatformError
from batchlab.platform import hops as hops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from batchlab.system import System

__all__ = ["Hops", "custom", "cyclic", "distance", "hop_bytes", "hops", "one_per_node", "packed", "reorder"]


@checked(PlatformError)
def packed(nodes: Sequence[int], ranks: int, per_node: int) -> list[int]:
    """Fill each node with ranks before the next one.

    Parameters
    ----------
    nodes
        The nodes of the job, in order.
    ranks
        Number of ranks.
    per_node
        Maximum number of ranks on a node, at least 1.

    Returns
    -------
    list of int
        The node of each rank.

    Raises
    ------
    PlatformError
        If the ranks do not fit on the nodes.

    Examples
    --------
    >>> packed([4, 7], 3, per_node=2)
    [4, 4, 7]
    """
    _check(nodes, ranks, per_node)
    return [nodes[rank // per_node] for rank in range(ranks)]


@checked(PlatformError)
def one_per_node(nodes: Sequence[int], ranks: int | None = None) -> list[int]:
    """Place one rank on each node; on all nodes unless `ranks` is given.

    Raises
    ------
    PlatformError
        If there are fewer nodes than ranks.
    """
    return packed(nodes, len(nodes) if ranks is None else ranks, 1)


@checked(PlatformError)
def cyclic(nodes: Sequence[int], ranks: int, per_node: int) -> list[int]:
    """Deal the ranks to the nodes in turn, over the smallest sufficient number of nodes.

    Parameters and errors as for `packed`.

    Examples
    --------
    >>> cyclic([4, 7], 3, per_node=2)
    [4, 7, 4]
    """
    _check(nodes, ranks, per_node)
    used = -(-ranks // per_node)
    return [nodes[rank % used] for rank in range(ranks)]


@checked(PlatformError)
def custom(nodes: Sequence[int], places: Sequence[int], per_node: int) -> list[int]:
    """Place each rank on the node with the given index.

    Parameters
    ----------
    nodes
        The nodes of the job, in order.
    places
        For each rank, the index of its node among the nodes of the job, from 0.
    per_node
        Maximum number of ranks on a node.

    Raises
    ------
    PlatformError
        If an index is out of range, or a node has too many ranks.
    """
    for rank, place in enumerate(places):
        if not 0 <= place < len(nodes):
            rule = f"places are from 0 to {len(nodes) - 1}"
            raise PlatformError(f"rank {rank} is at place {place}; {rule}.")
    for place in set(places):
        count = list(places).count(place)
        if count > per_node:
            raise PlatformError(f"place {place} has {count} ranks; a node takes {per_node}.")
    return [nodes[place] for place in places]


def _check(nodes: Sequence[int], ranks: int, per_node: int) -> None:
    if per_node < 1 or ranks < 0 or ranks > len(nodes) * per_node:
        rule = f"{len(nodes)} nodes take {len(nodes) * max(per_node, 0)} ranks, {per_node} each"
        raise PlatformError(f"ranks = {ranks}; {rule}.")


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


@checked(PlatformError)
def reorder(matrix: ArrayLike, nodes: Sequence[int], system: System) -> list[int]:
    """Map the ranks of a job to its places so that hop-bytes decrease.

    This is the rule of jobs with ``rank_order`` `"mapped"` (S22). First a greedy mapping: the rank with most
    traffic gets the central place; then, repeatedly, the rank with most traffic to placed ranks gets the
    free place with the fewest hop-bytes to them. The better of this mapping and the given places is refined:
    each rank swaps places with the rank that yields the largest gain, until no swap has a gain, in at most
    20 rounds.

    Parameters
    ----------
    matrix
        Bytes from each rank to each; shape (ranks, ranks).
    nodes
        The node of each place, as returned by `packed`: initially, rank i is at place i.
    system
        A system on a platform.

    Returns
    -------
    list of int
        The node of each rank; a permutation of `nodes`. Hop-bytes never increase.

    Raises
    ------
    PlatformError
        If the matrix is not square, its size differs from the number of places, or it has entries that are
        negative or not finite; if the system has no platform.

    Notes
    -----
    T. Hoefler and M. Snir, Generic topology mapping strategies for large-scale parallel architectures, ICS
    2011 (greedy mapping); then pairwise exchange. For e communicating pairs of ranks: O(nodes · e) for the
    greedy mapping, O(ranks²) for each round of swaps, and O(nodes) for each swap and communication partner of
    a swapped rank. Ties go to the first rank, so the result is deterministic.

    Examples
    --------
    >>> import batchlab as bl
    >>> ring = bl.System.of(bl.Platform.torus((8,), bandwidth="5GBps"))
    >>> pairs = [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    >>> places = reorder(pairs, [0, 1, 4, 5], ring)
    >>> hop_bytes(pairs, [0, 1, 4, 5], ring), hop_bytes(pairs, places, ring)
    (16.0, 4.0)
    """
    traffic = _checked(matrix, len(nodes))
    distinct, at, hops = _hops(nodes, system)
    return [distinct[node] for node in map_ranks(traffic, at, hops).tolist()]


@checked(PlatformError)
def hop_bytes(matrix: ArrayLike, nodes: Sequence[int], system: System) -> float:
    """Sum hops × bytes over the messages between ranks.

    Parameters and errors as for `reorder`; `nodes` has the node of each rank.
    """
    traffic = _checked(matrix, len(nodes))
    _, at, hops = _hops(nodes, system)
    return float((traffic * hops[np.ix_(at, at)]).sum())


def _checked(matrix: ArrayLike, ranks: int) -> NDArray[np.float64]:
    traffic = np.asarray(matrix, np.float64)
    if traffic.shape != (ranks, ranks):
        raise PlatformError(f"matrix has the shape {traffic.shape}; must be ({ranks}, {ranks}) as nodes has.")
    if not (np.isfinite(traffic) & (traffic >= 0)).all():
        raise PlatformError("matrix has entries that are no finite numbers >= 0.")
    return traffic


def _hops(nodes: Sequence[int], system: System) -> tuple[list[int], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the distinct nodes, the index of each place's node among them, and the hops between them."""
    between, distinct = distance(system), [*dict.fromkeys(nodes)]
    numbers = {node: number for number, node in enumerate(distinct)}
    table = [between(one, other) for one in distinct for other in distinct]
    hops = np.array(table, np.uint32).reshape(len(distinct), len(distinct))
    return distinct, np.array([numbers[node] for node in nodes], np.uint32), hops
