"""Reordering of ranks: which rank goes to which place, so that what they send crosses few links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab._kernel import map_ranks
from batchlab.errors import PlatformError
from batchlab.placement.hops import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from batchlab.system import System

__all__ = ["hop_bytes", "reorder"]


def reorder(matrix: ArrayLike, nodes: Sequence[int], system: System) -> list[int]:
    """Map the ranks of a job to its places so that hop-bytes decrease.

    The rule is that of jobs with ``rank_order`` `"mapped"` (S22): greedily first, the rank with most traffic
    takes the place in the middle, then again and again the rank that exchanges most with those that have a
    place takes the free place with fewest hop-bytes to them. What is better of this and the places as they
    are given is then refined: each rank swaps places with the one with which it gains most, again and again
    until no swap gains anything, or 20 times at most.

    Parameters
    ----------
    matrix
        Bytes from each rank to each; shape (ranks, ranks).
    nodes
        The node of each place, as `packed` gives them: rank i is at place i before.
    system
        A system on a platform.

    Returns
    -------
    list of int
        The node of each rank; a permutation of `nodes`. Hop-bytes are never more than before.

    Raises
    ------
    PlatformError
        If the matrix is not square, not of as many ranks as places, or has entries below 0 or not finite; if
        the system has no platform.

    Notes
    -----
    T. Hoefler and M. Snir, Generic topology mapping strategies for large-scale parallel architectures, ICS
    2011 (greedy mapping); then pairwise exchange. With e pairs of ranks that exchange something: O(nodes · e)
    to begin with, then O(ranks²) for each time that all ranks look for swaps, and O(nodes) for each swap and
    rank that a swapped one exchanges with. Ties go to the first, so the result is always the same.

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


def hop_bytes(matrix: ArrayLike, nodes: Sequence[int], system: System) -> float:
    """Sum hops × bytes of what the ranks on some nodes send.

    Parameters and errors are those of `reorder`; `nodes` has the node of each rank.
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
    """Give the distinct nodes, the number of that of each place, and the hops from each to each."""
    between, distinct = distance(system), [*dict.fromkeys(nodes)]
    numbers = {node: number for number, node in enumerate(distinct)}
    table = [between(one, other) for one in distinct for other in distinct]
    hops = np.array(table, np.uint32).reshape(len(distinct), len(distinct))
    return distinct, np.array([numbers[node] for node in nodes], np.uint32), hops
