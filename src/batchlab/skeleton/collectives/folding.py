"""Common steps of reductions for any number of ranks: folding to a power of two, and halving the vector.

Ranks below ``2 (p - q)`` fold in pairs, so that q = 2^⌊log2 p⌋ ranks remain (MPICH).
"""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Ranks, Rounds, bits, floor_power, one

__all__ = ["Fold", "element_blocks", "halving"]


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
