"""Scatter from one rank, ``blocks[r]`` to rank r."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Rounds, bits, one

__all__ = ["binomial", "binomial_ascending", "linear", "scattered"]


def linear(p: int, blocks: Blocks, root: int) -> Rounds:
    """Send to the other ranks in turn."""
    for rank in range(p):
        if rank != root:
            yield one(root, rank, blocks[rank])


def scattered(p: int, blocks: Blocks, root: int) -> Rounds:
    """Send to the other ranks concurrently, without empty blocks (MPI_Scatterv of MPICH)."""
    others = np.flatnonzero((np.arange(p) != root) & (blocks > 0))
    if others.size:
        yield one(root, others, blocks[others])


def binomial(p: int, blocks: Blocks, root: int) -> Rounds:
    """Send the blocks of each subtree along a binomial tree, largest first (MPICH)."""
    before = np.concatenate(([0.0], np.cumsum(np.roll(blocks, -root))))
    for mask in reversed(bits(p)):
        sender = np.arange(0, p - mask, 2 * mask)
        sent = before[np.minimum(sender + 2 * mask, p)] - before[sender + mask]
        yield one((sender + root) % p, (sender + mask + root) % p, sent)


def binomial_ascending(p: int, blocks: Blocks, root: int) -> Rounds:
    """Send the blocks of each subtree along a binomial tree, smallest first (Open MPI's in-order tree)."""
    before = np.concatenate(([0.0], np.cumsum(np.roll(blocks, -root))))
    ranks = np.arange(p)
    depth = np.array([int(rank).bit_count() for rank in ranks])
    # A rank sends after it has received, so ranks near the root come first.
    for level in range(int(depth.max()) + 1):
        for mask in bits(p):
            sender = ranks[(depth == level) & (ranks % (2 * mask) == 0) & (ranks + mask < p)]
            if sender.size:
                sent = before[np.minimum(sender + 2 * mask, p)] - before[sender + mask]
                yield one((sender + root) % p, (sender + mask + root) % p, sent)
