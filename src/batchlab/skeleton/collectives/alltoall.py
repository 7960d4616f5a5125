"""All ranks send to all ranks (Bruck et al., IEEE TPDS 8(11), 1997; MPICH).

``blocks[i, j]`` is the number of bytes from rank i to rank j.
"""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Rounds, bits, one

__all__ = ["batches", "bruck", "linear", "pairwise", "scattered", "xor"]

_BATCH = 32


def pairwise(p: int, blocks: Blocks) -> Rounds:
    """Send to r + 1, r + 2, … and receive from r - 1, r - 2 and so on."""
    ranks = np.arange(p)
    for step in range(1, p):
        target = (ranks + step) % p
        yield one(ranks, target, blocks[ranks, target])


def xor(p: int, blocks: Blocks) -> Rounds:
    """Exchange with r xor 1, 2, 3, …; for powers of two."""
    ranks = np.arange(p)
    for step in range(1, p):
        yield one(ranks, ranks ^ step, blocks[ranks, ranks ^ step])


def linear(p: int, blocks: Blocks) -> Rounds:
    """Send to all others concurrently."""
    yield from _at_once(p, blocks, range(1, p))


def batches(p: int, blocks: Blocks) -> Rounds:
    """Send to r - 1, r - 2, … concurrently, in batches of 32."""
    for first in range(1, p, _BATCH):
        yield from _at_once(p, blocks, range(first, min(first + _BATCH, p)))


def scattered(p: int, blocks: Blocks) -> Rounds:
    """Send as in `batches`, without empty blocks (MPI_Alltoallv of MPICH)."""
    for sent in batches(p, blocks):
        some = sent.size > 0
        if some.any():
            yield one(sent.source[some], sent.target[some], sent.size[some])


def bruck(p: int, blocks: Blocks) -> Rounds:
    """Send all blocks whose distance has bit i to r + 2^i. Blocks must be of equal size."""
    ranks, distance = np.arange(p), np.arange(1, p)
    for mask in bits(p):
        count = int(np.count_nonzero(distance & mask))
        yield one(ranks, (ranks + mask) % p, count * blocks[0, 0])


def _at_once(p: int, blocks: Blocks, steps: range) -> Rounds:
    source = np.tile(np.arange(p), len(steps))
    target = (source - np.repeat(np.asarray(steps), p)) % p
    yield one(source, target, blocks[source, target])
