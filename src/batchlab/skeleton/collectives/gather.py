"""Gather to one rank, ``blocks[r]`` from rank r."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Rounds, bits, one

__all__ = ["binomial", "linear", "scattered"]


def linear(p: int, blocks: Blocks, root: int) -> Rounds:
    """Receive from the other ranks in turn."""
    for rank in range(p):
        if rank != root:
            yield one(rank, root, blocks[rank])


def scattered(p: int, blocks: Blocks, root: int) -> Rounds:
    """Receive from the other ranks concurrently, without empty blocks (MPI_Gatherv of MPICH)."""
    others = np.flatnonzero((np.arange(p) != root) & (blocks > 0))
    if others.size:
        yield one(others, root, blocks[others])


def binomial(p: int, blocks: Blocks, root: int) -> Rounds:
    """Receive the blocks of each subtree along a binomial tree, smallest first."""
    before = np.concatenate(([0.0], np.cumsum(np.roll(blocks, -root))))
    for mask in bits(p):
        receiver = np.arange(0, p - mask, 2 * mask)
        sent = before[np.minimum(receiver + 2 * mask, p)] - before[receiver + mask]
        yield one((receiver + mask + root) % p, (receiver + root) % p, sent)
