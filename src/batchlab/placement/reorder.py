"""Reordering of ranks to reduce the number of links that their messages cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab._kernel import map_ranks
from batchlab.core.arguments import checked
from batchlab.errors import PlatformError
from batchlab.placement.hops import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from batchlab.system import System

__all__ = ["hop_bytes", "reorder"]


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
