"""Prefix reductions: rank r has the sum of ranks 0 to r (MPICH; Open MPI)."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Rounds, bits, one

__all__ = ["linear", "recursive_doubling"]


def recursive_doubling(p: int, size: float) -> Rounds:
    """Exchange partial sums with r xor 1, 2, 4, … if that rank exists (MPICH)."""
    ranks = np.arange(p)
    for mask in bits(p):
        here = ranks[(ranks ^ mask) < p]
        yield one(here, here ^ mask, size)


def linear(p: int, size: float) -> Rounds:
    """Receive from r - 1, then send to r + 1 (Open MPI)."""
    for rank in range(p - 1):
        yield one(rank, rank + 1, size)
