"""Rounds of messages, the output of every algorithm of a collective, and common steps of reductions.

In a round, a rank posts all its receives, then all its sends, and waits for them; ranks without a message in
a round are not involved. So the rounds of one rank are ordered, but those of different ranks are not.
In reductions, ranks below ``2 (p - q)`` fold in pairs, so that q = 2^⌊log2 p⌋ ranks remain (MPICH).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Blocks",
    "Fold",
    "Ranks",
    "Round",
    "Rounds",
    "bits",
    "element_blocks",
    "floor_power",
    "halving",
    "incomplete_doubling",
    "one",
]

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


class Fold:
    """The ranks that remain when p ranks fold to a power of two.

    Parameters
    ----------
    p
        Number of ranks.
    odd_stays
        Whether the odd rank of each pair remains, instead of the even one.
    """

    def __init__(self, p: int, *, odd_stays: bool = True) -> None:
        self.q = floor_power(p)
        self.rest = p - self.q
        pairs = np.arange(self.rest)
        self.leaves: Ranks = 2 * pairs + (0 if odd_stays else 1)
        self.stays: Ranks = 2 * pairs + (1 if odd_stays else 0)
        self.ranks: Ranks = np.concatenate((self.stays, np.arange(2 * self.rest, p)))
        """The original rank of each remaining rank."""

    def enter(self, size: float) -> Rounds:
        """Fold: each leaving rank sends its vector to its partner."""
        if self.rest:
            yield one(self.leaves, self.stays, size)

    def leave(self, size: object) -> Rounds:
        """Unfold: the partners send the result back."""
        if self.rest:
            yield one(self.stays, self.leaves, size)

    def exchange(self, mask: int, size: object) -> Rounds:
        """Exchange between the remaining ranks n and n xor mask."""
        yield one(self.ranks, self.ranks[np.arange(self.q) ^ mask], size)


def element_blocks(q: int, size: float, unit: float) -> Blocks:
    """Divide a vector into q blocks of whole elements; the last block contains the remainder."""
    elements = size // unit
    blocks = np.full(q, elements // q * unit)
    blocks[-1] = size - blocks[:-1].sum()
    return blocks


def halving(fold: Fold, blocks: Blocks) -> tuple[list[Rounds], list[Blocks]]:
    """Halve the vector between n and n xor 1, 2, 4, …; the lower rank keeps the lower half.

    Returns
    -------
    tuple
        The rounds; and the bytes that each remaining rank holds before each round and at the end.
    """
    before = np.concatenate(([0.0], np.cumsum(blocks)))
    new = np.arange(fold.q)
    begin, end = np.zeros(fold.q, np.int64), np.full(fold.q, fold.q)
    rounds, held = [], [before[end] - before[begin]]
    for mask in bits(fold.q):
        middle = (begin + end) // 2
        lower = new & mask == 0
        sent = np.where(lower, before[end] - before[middle], before[middle] - before[begin])
        rounds.append(fold.exchange(mask, sent))
        begin, end = np.where(lower, begin, middle), np.where(lower, middle, end)
        held.append(before[end] - before[begin])
    return rounds, held
