"""Rounds of messages: the output of every algorithm of a collective.

In a round, a rank posts all its receives, then all its sends, and waits for them; ranks without a message in
a round are not involved. So the rounds of one rank are ordered, but those of different ranks are not.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Blocks", "Ranks", "Round", "Rounds", "bits", "floor_power", "incomplete_doubling", "one"]

Ranks = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.float64]


class Round(NamedTuple):
    """The messages of one round: senders, receivers, and bytes of payload; arrays of equal length."""

    source: Ranks
    target: Ranks
    size: Blocks


Rounds = Iterator[Round]


def one(source: object, target: object, size: object) -> Round:
    """Create a round from arguments that broadcast to equal lengths."""
    pair = np.broadcast_arrays(
        np.atleast_1d(np.asarray(source, np.int64)),
        np.asarray(target, np.int64),
        np.asarray(size, np.float64),
    )
    return Round(*pair)


def bits(p: int) -> list[int]:
    """Return the powers of two 1, 2, 4, … below p."""
    return [1 << bit for bit in range((p - 1).bit_length())]


def floor_power(p: int) -> int:
    """Return the greatest power of two that is at most p."""
    return 1 << (p.bit_length() - 1)


def incomplete_doubling(p: int, payload: Callable[[Ranks, Ranks], Blocks]) -> Rounds:
    """Recursive doubling for any number of ranks: subtrees without a partner are served within their tree.

    As in MPICH (MPI_Allgather, MPI_Reduce_scatter, scatter and doubling for MPI_Bcast). `payload` returns the
    bytes that ranks of the trees ``[begin, end)`` send.
    """
    ranks = np.arange(p)
    for mask in bits(p):
        begin = ranks // mask * mask
        sent = payload(begin, np.minimum(begin + mask, p))
        partner = ranks ^ mask
        here = partner < p
        yield one(ranks[here], partner[here], sent[here])
        got = np.where(here, sent[np.where(here, partner, 0)], 0.0)
        yield from _within_trees(p, mask, got)


def _within_trees(p: int, mask: int, got: Blocks) -> Rounds:
    ranks = np.arange(p)
    lacks = (ranks ^ mask) // mask * mask + mask > p
    tree = ranks // mask * mask
    served = tree + (p - tree - mask)
    for step in reversed(bits(mask)):
        partner = ranks ^ step
        # The subtrees of this step; those before `served` hold the data that the others lack.
        root = ranks // (2 * step) * (2 * step)
        bound = root + (served - tree)
        sends = lacks & (partner > ranks) & (ranks < bound) & (partner >= bound) & (partner < p)
        if sends.any():
            got[partner[sends]] = got[ranks[sends]]
            yield one(ranks[sends], partner[sends], got[ranks[sends]])
