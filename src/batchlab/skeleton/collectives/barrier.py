"""Barriers: empty messages (Hensgen, Finkel and Manber, IJPP 17(1), 1988; Open MPI)."""

import numpy as np

from batchlab.skeleton.collectives import allreduce
from batchlab.skeleton.collectives.rounds import Rounds, bits, floor_power, one

__all__ = ["dissemination", "linear", "recursive_doubling", "tree"]


def dissemination(p: int) -> Rounds:
    """Send to r + 1, r + 2, r + 4 and so on."""
    ranks = np.arange(p)
    for mask in bits(p):
        yield one(ranks, (ranks + mask) % p, 0.0)


def recursive_doubling(p: int) -> Rounds:
    """Exchange with r xor 1, 2, 4, …; ranks beyond the power of two report to r - q, which releases them."""
    q = floor_power(p)
    ranks, beyond = np.arange(q), np.arange(q, p)
    if beyond.size:
        yield one(beyond, beyond - q, 0.0)
    for mask in bits(q):
        yield one(ranks, ranks ^ mask, 0.0)
    if beyond.size:
        yield one(beyond - q, beyond, 0.0)


def tree(p: int) -> Rounds:
    """Report along a binomial tree, and release along the same tree."""
    return allreduce.reduce_broadcast(p, 0.0, 1.0)


def linear(p: int) -> Rounds:
    """All ranks report to rank 0, which then releases all of them."""
    others = np.arange(1, p)
    yield one(others, 0, 0.0)
    yield one(0, others, 0.0)
