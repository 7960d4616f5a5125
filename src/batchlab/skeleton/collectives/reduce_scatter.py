"""Reduce a vector and scatter it, ``blocks[r]`` to rank r.

Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
"""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Fold, Ranks, Rounds, bits, incomplete_doubling, one

__all__ = ["pairwise", "recursive_doubling", "recursive_halving", "ring"]


def pairwise(p: int, blocks: Blocks) -> Rounds:
    """Send the blocks of r + 1, r + 2, … to them (MPICH, long vectors)."""
    ranks = np.arange(p)
    for step in range(1, p):
        target = (ranks + step) % p
        yield one(ranks, target, blocks[target])


def ring(p: int, blocks: Blocks) -> Rounds:
    """Pass partial sums of the blocks around a ring (Open MPI)."""
    ranks = np.arange(p)
    for step in range(p - 1):
        yield one(ranks, (ranks + 1) % p, blocks[(ranks - step - 1) % p])


def recursive_doubling(p: int, blocks: Blocks) -> Rounds:
    """Exchange with r xor 1, 2, 4, … all blocks except those of the own subtree (MPICH, any operation)."""
    before = np.concatenate(([0.0], np.cumsum(blocks)))

    def payload(begin: Ranks, end: Ranks) -> Blocks:
        own: Blocks = before[end] - before[begin]
        rest: Blocks = before[-1] - own
        return rest

    return incomplete_doubling(p, payload)


def recursive_halving(p: int, blocks: Blocks) -> Rounds:
    """Fold to a power of two, then halve the vector with n xor q/2, q/4 and so on."""
    fold = Fold(p)
    yield from fold.enter(float(blocks.sum()))
    pairs = blocks[: 2 * fold.rest].reshape(-1, 2).sum(axis=1)
    before = np.concatenate(([0.0], np.cumsum(np.concatenate((pairs, blocks[2 * fold.rest :])))))
    new = np.arange(fold.q)
    for mask in reversed(bits(fold.q)):
        begin = (new ^ mask) // mask * mask
        sent = before[begin + mask] - before[begin]
        partner = new ^ mask
        some = sent > 0
        yield one(fold.ranks[some], fold.ranks[partner[some]], sent[some])
    yield from fold.leave(blocks[fold.leaves])
