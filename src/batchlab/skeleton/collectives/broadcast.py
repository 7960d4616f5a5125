"""Broadcast: algorithms of MPICH and Open MPI (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005)."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Ranks, Rounds, bits, incomplete_doubling, one

__all__ = ["binomial", "linear", "scatter_recursive_doubling", "scatter_ring"]


def binomial(p: int, size: float, root: int) -> Rounds:
    """Send along a binomial tree, the largest subtree first."""
    for mask in reversed(bits(p)):
        sender = np.arange(0, p - mask, 2 * mask)
        yield one((sender + root) % p, (sender + mask + root) % p, size)


def linear(p: int, size: float, root: int) -> Rounds:
    """Send from the root to all others concurrently."""
    others = np.delete(np.arange(p), root)
    yield one(root, others, size)


def scatter_ring(p: int, size: float, root: int) -> Rounds:
    """Scatter blocks along a binomial tree, then pass them around a ring (van de Geijn)."""
    blocks = _blocks(p, size)
    yield from _scatter(p, blocks, root)
    ranks = np.arange(p)
    for step in range(p - 1):
        yield one((ranks + root) % p, (ranks + 1 + root) % p, blocks[(ranks - step) % p])


def scatter_recursive_doubling(p: int, size: float, root: int) -> Rounds:
    """Scatter blocks along a binomial tree, then gather them by recursive doubling."""
    blocks = _blocks(p, size)
    yield from _scatter(p, blocks, root)
    before = np.concatenate(([0.0], np.cumsum(blocks)))

    def payload(begin: Ranks, end: Ranks) -> Blocks:
        return before[end] - before[begin]

    for source, target, sent in incomplete_doubling(p, payload):
        yield one((source + root) % p, (target + root) % p, sent)


def _blocks(p: int, size: float) -> Blocks:
    """Return the bytes of each block: ⌈size / p⌉, the last blocks are smaller or empty."""
    block = -(-size // p)
    return np.clip(size - block * np.arange(p), 0.0, block)


def _scatter(p: int, blocks: Blocks, root: int) -> Rounds:
    before = np.concatenate(([0.0], np.cumsum(blocks)))
    for mask in reversed(bits(p)):
        sender = np.arange(0, p - mask, 2 * mask)
        sent = before[np.minimum(sender + 2 * mask, p)] - before[sender + mask]
        some = sent > 0
        yield one((sender[some] + root) % p, (sender[some] + mask + root) % p, sent[some])
