"""Reordering of ranks: which rank goes to which place, so that what they send crosses few links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import PlatformError
from batchlab.placement.hops import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from batchlab.system import System

__all__ = ["hop_bytes", "reorder"]

_SWEEPS = 20
# A swap has to gain more than sums are rounded by.
_LEAST_GAIN = 1e-9


def reorder(matrix: ArrayLike, nodes: Sequence[int], system: System) -> list[int]:
    """Map the ranks of a job to its places so that hop-bytes decrease.

    Greedily first: the rank with most traffic takes the place in the middle, then again and again the rank
    that exchanges most with those that have a place takes the free place with fewest hop-bytes to them. What
    is better of this and the places as they are given is then refined: each rank swaps places with the one
    with which it gains most, again and again until no swap gains anything, or 20 times at most.

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
    2011 (greedy mapping); then pairwise exchange. O(ranks³) for each time that all ranks swap: 1.6 s of CPU
    for a ring of 512 ranks. Ties go to the first, so the result is always the same.

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
    both = traffic + traffic.T
    np.fill_diagonal(both, 0.0)
    hops = _hops(nodes, system)
    as_given = np.arange(len(nodes))
    greedy = _greedy(both, hops)
    best = greedy if _cost(both, hops, greedy) < _cost(both, hops, as_given) else as_given
    refined = [nodes[place] for place in _refined(both, hops, best).tolist()]
    # Where routes differ from those back, a mean that decreases may hide a sum that does not.
    is_worse = hop_bytes(traffic, refined, system) > hop_bytes(traffic, nodes, system)
    return [*nodes] if is_worse else refined


def hop_bytes(matrix: ArrayLike, nodes: Sequence[int], system: System) -> float:
    """Sum hops × bytes of what the ranks on some nodes send.

    Parameters and errors are those of `reorder`; `nodes` has the node of each rank.
    """
    return float((_checked(matrix, len(nodes)) * _one_way(nodes, system)).sum())


def _checked(matrix: ArrayLike, ranks: int) -> NDArray[np.float64]:
    traffic = np.asarray(matrix, np.float64)
    if traffic.shape != (ranks, ranks):
        raise PlatformError(f"matrix has the shape {traffic.shape}; must be ({ranks}, {ranks}) as nodes has.")
    if not (np.isfinite(traffic) & (traffic >= 0)).all():
        raise PlatformError("matrix has entries that are no finite numbers >= 0.")
    return traffic


def _one_way(nodes: Sequence[int], system: System) -> NDArray[np.float64]:
    between, distinct = distance(system), [*dict.fromkeys(nodes)]
    table = np.array([[between(one, other) for other in distinct] for one in distinct], np.float64)
    at = np.array([distinct.index(node) for node in nodes], np.int64)
    return table[np.ix_(at, at)] if len(at) else np.zeros((0, 0))


def _hops(nodes: Sequence[int], system: System) -> NDArray[np.float64]:
    """Give the mean of the hops there and back: routes of a dragonfly may differ."""
    there = _one_way(nodes, system)
    return (there + there.T) / 2


def _cost(both: NDArray[np.float64], hops: NDArray[np.float64], places: NDArray[np.int64]) -> float:
    return float((both * hops[np.ix_(places, places)]).sum())


def _greedy(both: NDArray[np.float64], hops: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give each rank a place, those that exchange most with what is placed first."""
    ranks = len(both)
    places = np.full(ranks, -1, np.int64)
    # What each rank exchanges with those that are placed, and the hop-bytes of a rank at each place.
    attached = np.full(ranks, -np.inf)
    for turn in range(ranks):
        rank = int((both.sum(axis=1) if turn == 0 else attached).argmax())
        placed = np.flatnonzero(places >= 0)
        cost = (hops[:, places[placed]] * both[rank, placed]).sum(axis=1) if turn else hops.sum(axis=1)
        cost[places[placed]] = np.inf
        places[rank] = cost.argmin()
        attached = np.where(np.isneginf(attached), 0.0, attached) + both[rank]
        attached[places >= 0] = -1.0
    return places


def _refined(
    both: NDArray[np.float64], hops: NDArray[np.float64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Swap places as long as that gains something."""
    places = places.copy()
    least = _LEAST_GAIN * _cost(both, hops, places)
    for _ in range(_SWEEPS):
        swapped = False
        for rank in range(len(places)):
            here, arranged = places[rank], hops[np.ix_(places, places)]
            # Hop-bytes of this rank at the place of each other, and of each other at the place of this one.
            mine = (arranged * both[rank]).sum(axis=1)
            others = (both * hops[here, places]).sum(axis=1)
            theirs = (both * arranged).sum(axis=1)
            gain = mine[rank] - mine + theirs - others - 2 * both[rank] * arranged[rank]
            other = int(gain.argmax())
            if gain[other] > least:
                places[rank], places[other] = places[other], here
                swapped = True
        if not swapped:
            break
    return places
