"""Reduce to all ranks.

Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005; the ring is from Patarasuk and Yuan, JPDC 69(2), 2009.
"""

import numpy as np

from batchlab.skeleton.collectives import broadcast, reduction
from batchlab.skeleton.collectives.rounds import Blocks, Fold, Rounds, bits, element_blocks, halving, one

__all__ = ["rabenseifner", "rabenseifner_linear", "recursive_doubling", "reduce_broadcast", "ring"]


def recursive_doubling(p: int, size: float, unit: float) -> Rounds:  # noqa: ARG001  # common signature
    """Exchange the whole vector with r xor 1, 2, 4 and so on."""
    fold = Fold(p)
    yield from fold.enter(size)
    for mask in bits(fold.q):
        yield from fold.exchange(mask, size)
    yield from fold.leave(size)


def rabenseifner(p: int, size: float, unit: float) -> Rounds:
    """Halve the vector between partners, then gather the parts by doubling."""
    fold = Fold(p)
    yield from fold.enter(size)
    rounds, held = halving(fold, element_blocks(fold.q, size, unit))
    for each in rounds:
        yield from each
    own = held[-1].copy()
    for mask in reversed(bits(fold.q)):
        yield from fold.exchange(mask, own)
        own = own + own[np.arange(fold.q) ^ mask]
    yield from fold.leave(size)


def rabenseifner_linear(p: int, size: float, unit: float) -> Rounds:
    """Halve the vector between partners, farthest first, then send the parts to all ranks concurrently.

    For powers of two. Parts have equal numbers of elements, rounded up.
    """
    ranks, part = np.arange(p), -(-(size // unit) // p) * unit
    for mask in reversed(bits(p)):
        yield one(ranks, ranks ^ mask, part * mask)
    source, target = np.divmod(np.arange(p * p), p)
    other = source != target
    yield one(source[other], target[other], part)


def ring(p: int, size: float, unit: float) -> Rounds:
    """Reduce and scatter blocks around a ring, then gather them around the ring."""
    ranks, blocks = np.arange(p), even_blocks(p, size, unit)
    for step in range(p - 1):
        yield one(ranks, (ranks + 1) % p, blocks[(ranks - step) % p])
    for step in range(p - 1):
        yield one(ranks, (ranks + 1) % p, blocks[(ranks + 1 - step) % p])


def reduce_broadcast(p: int, size: float, unit: float) -> Rounds:
    """Reduce to rank 0 along a binomial tree, then broadcast along it."""
    yield from reduction.binomial(p, size, 0, unit)
    yield from broadcast.binomial(p, size, 0)


def even_blocks(p: int, size: float, unit: float) -> Blocks:
    """Divide a vector into p blocks of whole elements; the first blocks have one element more (Open MPI)."""
    whole, rest = divmod(size // unit, p)
    blocks: Blocks = np.array((whole + (np.arange(p) < rest)) * unit, np.float64)
    blocks[-1] += size - blocks.sum()
    return blocks
