"""Gather to all ranks (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005; Chen et al., HPC Asia 2005)."""

import numpy as np

from batchlab.skeleton.collectives.rounds import Blocks, Ranks, Rounds, bits, incomplete_doubling, one

__all__ = [
    "bruck",
    "linear",
    "neighbour_exchange",
    "pairwise",
    "recursive_doubling",
    "ring",
    "ring_pipelined",
    "xor",
]

_SEGMENT = 32_768


def ring(p: int, blocks: Blocks) -> Rounds:
    """Pass the blocks around a ring."""
    ranks = np.arange(p)
    for step in range(p - 1):
        yield one(ranks, (ranks + 1) % p, blocks[(ranks - step) % p])


def ring_pipelined(p: int, blocks: Blocks) -> Rounds:
    """Pass the blocks around a ring in segments (MPI_Allgatherv of MPICH, long blocks).

    A segment is as large as the smallest block, but at least 32 KiB. An empty block takes a step without a
    message.
    """
    segment = max(float(blocks.min()), _SEGMENT)
    parts = [_segments(float(block), segment) for block in blocks]
    sent = [np.concatenate([parts[(rank - step) % p] for step in range(p - 1)]) for rank in range(p)]
    for step in range(max(map(len, sent))):
        sends = [rank for rank in range(p) if step < len(sent[rank]) and sent[rank][step] > 0]
        if sends:
            ranks = np.array(sends)
            yield one(ranks, (ranks + 1) % p, [sent[rank][step] for rank in sends])


def _segments(block: float, segment: float) -> Blocks:
    whole = int(block // segment)
    rest = block - whole * segment
    return np.array([segment] * whole + [rest] * (rest > 0 or whole == 0))


def pairwise(p: int, blocks: Blocks) -> Rounds:
    """Send the own block to r + 1, r + 2 and so on."""
    ranks = np.arange(p)
    for step in range(1, p):
        yield one(ranks, (ranks + step) % p, blocks)


def xor(p: int, blocks: Blocks) -> Rounds:
    """Exchange the own blocks with r xor 1, 2, 3, …; for powers of two."""
    ranks = np.arange(p)
    for step in range(1, p):
        yield one(ranks, ranks ^ step, blocks)


def linear(p: int, blocks: Blocks) -> Rounds:
    """Send the own block to all others concurrently."""
    source, target = np.divmod(np.arange(p * p), p)
    other = source != target
    yield one(source[other], target[other], blocks[source[other]])


def recursive_doubling(p: int, blocks: Blocks) -> Rounds:
    """Exchange all blocks held with r xor 1, 2, 4 and so on."""
    before = np.concatenate(([0.0], np.cumsum(blocks)))

    def payload(begin: Ranks, end: Ranks) -> Blocks:
        return before[end] - before[begin]

    return incomplete_doubling(p, payload)


def bruck(p: int, blocks: Blocks) -> Rounds:
    """Send the blocks that the target lacks to r - 1, r - 2, r - 4 and so on."""
    ranks = np.arange(p)
    before = np.concatenate(([0.0], np.cumsum(np.concatenate((blocks, blocks)))))
    for mask in bits(p):
        count = min(mask, p - mask)
        yield one(ranks, (ranks - mask) % p, before[ranks + count] - before[ranks])


def neighbour_exchange(p: int, blocks: Blocks) -> Rounds:
    """Exchange pairs of blocks with both neighbours alternately; a ring for an odd number of ranks."""
    if p % 2:
        yield from ring(p, blocks)
        return
    ranks = np.arange(p)
    even = ranks % 2 == 0
    yield one(ranks, ranks ^ 1, blocks)
    pairs = blocks.reshape(-1, 2).sum(axis=1)
    latest = ranks // 2
    for step in range(1, p // 2):
        towards = even == (step % 2 == 0)
        partner = np.where(towards, ranks + 1, ranks - 1) % p
        yield one(ranks, partner, pairs[latest])
        latest = latest[partner]
