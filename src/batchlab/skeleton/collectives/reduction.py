"""Reduce to one rank (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005)."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Fold, Rounds, bits, element_blocks, halving, one

__all__ = ["binomial", "linear", "rabenseifner"]


def binomial(p: int, size: float, root: int, unit: float) -> Rounds:  # noqa: ARG001  # common signature
    """Receive along a binomial tree, the smallest subtree first."""
    for mask in bits(p):
        receiver = np.arange(0, p - mask, 2 * mask)
        yield one((receiver + mask + root) % p, (receiver + root) % p, size)


def linear(p: int, size: float, root: int, unit: float) -> Rounds:  # noqa: ARG001  # common signature
    """Receive from the other ranks in turn, last rank first."""
    for rank in reversed(range(p)):
        if rank != root:
            yield one(rank, root, size)


def rabenseifner(p: int, size: float, root: int, unit: float) -> Rounds:
    """Halve the vector between partners, then gather the parts along a binomial tree.

    Vectors with fewer elements than q are extended to q elements, as in SMPI.
    """
    fold = Fold(p, odd_stays=False)
    yield from fold.enter(size)
    rounds, held = halving(fold, element_blocks(fold.q, max(size, fold.q * unit), unit))
    for each in rounds:
        yield from each
    own, ranks = held[-1].copy(), fold.ranks.copy()
    if root not in ranks:
        # The root was folded away: it replaces the first remaining rank.
        yield one(ranks[0], root, own[0])
        ranks[0] = root
    new, new_root = np.arange(fold.q), int(np.flatnonzero(ranks == root)[0])
    for mask in reversed(bits(fold.q)):
        distance = new ^ new_root
        sends = new[(distance >= mask) & (distance < 2 * mask)]
        yield one(ranks[sends], ranks[sends ^ mask], own[sends])
        own[sends ^ mask] += own[sends]
