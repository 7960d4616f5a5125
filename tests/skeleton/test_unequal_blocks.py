"""Collectives whose blocks differ: lists of sizes, and the algorithms of MPICH's calls with v."""

from collections.abc import Callable

import numpy as np
import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Skeleton, run
from batchlab.skeleton.communicator import Communicator
from batchlab.skeleton.skeleton import SkeletonRun

ENVELOPE = 16
BANDWIDTH = 1e9
MB = 1e6
OF_BLOCKS = ("scatter", "gather", "allgather", "reduce_scatter")


def ran(ranks: int, function: Callable[[Communicator], None]) -> SkeletonRun:
    platform = bl.Platform.crossbar(ranks, speed="1Gf", bandwidth=BANDWIDTH, latency=0, cores=1)
    return run(Skeleton(function, ranks=ranks), platform)


def sent(found: SkeletonRun) -> list[tuple[int, int, float]]:
    return sorted(zip(found.source.tolist(), found.target.tolist(), found.bytes.tolist(), strict=True))


@pytest.mark.parametrize("ranks", [3, 8, 16, 40])
def test_one_neighbour_takes_one_message(ranks: int) -> None:
    """MPI_Alltoallv sends what there is at once, and no empty messages."""

    def function(world: Communicator) -> None:
        world.alltoall([MB if target == (world.rank + 1) % ranks else 0 for target in range(ranks)])

    found = ran(ranks, function)
    assert found.time == pytest.approx((MB + ENVELOPE) / BANDWIDTH)
    assert sent(found) == sorted((rank, (rank + 1) % ranks, MB) for rank in range(ranks))


@pytest.mark.parametrize("name", OF_BLOCKS)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_a_list_is_the_block_of_each_rank(name: str, ranks: int) -> None:
    """A list on all ranks sends what their own numbers do, equal or not."""
    for sizes in ([MB] * ranks, [MB * (rank % 3) for rank in range(ranks)]):

        def by_list(world: Communicator, sizes: list[float] = sizes) -> None:
            getattr(world, name)(np.array(sizes) if world.rank % 2 else sizes)

        def by_number(world: Communicator, sizes: list[float] = sizes) -> None:
            getattr(world, name)(sizes[world.rank])

        listed, numbered = ran(ranks, by_list), ran(ranks, by_number)
        assert listed.time == numbered.time
        assert sent(listed) == sent(numbered)


@pytest.mark.parametrize("name", ["scatter", "gather"])
def test_the_root_sends_and_receives_at_once(name: str) -> None:
    """MPI_Scatterv and MPI_Gatherv: each block between its rank and the root, none that is empty."""
    sizes = [MB, 2 * MB, 0, 5]
    found = ran(4, lambda world: getattr(world, name)(sizes, 0))
    pairs = [(0, 1), (0, 3)] if name == "scatter" else [(1, 0), (3, 0)]
    expected = sorted((*pair, size) for pair, size in zip(pairs, (2 * MB, 5), strict=True))
    assert sent(found) == expected
    assert found.time == pytest.approx((2 * MB + 5 + 2 * ENVELOPE) / BANDWIDTH)


def test_long_blocks_are_gathered_in_segments() -> None:
    """MPI_Allgatherv of 100,000, 10 and 0 bytes: a ring in segments of 32 KiB, each block to both others."""
    sizes = [600_000.0, 10.0, 0.0]
    messages = sent(ran(3, lambda world: world.allgather(sizes)))
    whole, rest = divmod(600_000, 32_768)
    block = [32_768.0] * whole + [float(rest)]
    expected = [(0, 1, size) for size in block] + [(1, 2, size) for size in (*block, 10.0)] + [(2, 0, 10.0)]
    assert messages == sorted(expected)


@pytest.mark.parametrize(
    ("ranks", "blocks", "segments"), [(4, MB / 20, False), (3, 20_000, False), (3, MB, True)]
)
def test_the_choice_of_allgather(ranks: int, blocks: float, segments: bool) -> None:
    """By all bytes: recursive doubling for a power of two, Bruck's for few bytes, else a ring in segments."""
    sizes = [blocks + rank for rank in range(ranks)]
    found = ran(ranks, lambda world: world.allgather(sizes))
    chosen = "ring_pipelined" if segments else {4: "recursive_doubling", 3: "bruck"}[ranks]
    named = ran(ranks, lambda world: world.allgather(sizes, chosen))
    assert (found.time, sent(found)) == (named.time, sent(named))


@pytest.mark.parametrize("ranks", [3, 5, 7])
def test_neighbour_exchange_of_an_odd_number_is_a_ring(ranks: int) -> None:
    """As by Open MPI."""
    exchange = ran(ranks, lambda world: world.allgather(MB, "neighbour_exchange"))
    ring = ran(ranks, lambda world: world.allgather(MB, "ring"))
    assert (exchange.time, sent(exchange)) == (ring.time, sent(ring))


def test_sizes_that_disagree_are_refused() -> None:
    """Lists that differ, a number that is not the entry of its rank, and a list for one size."""

    def differ(world: Communicator) -> None:
        world.gather([MB, world.rank])

    def part(world: Communicator) -> None:
        world.gather([MB, 5] if world.rank else 4)

    def broadcast(world: Communicator) -> None:
        world.bcast([MB, MB])  # type: ignore[arg-type]

    def text(world: Communicator) -> None:
        world.alltoall("1KB")  # type: ignore[arg-type]

    for function, said in (
        (differ, "the lists of all ranks must be the same"),
        (part, "a number that of its rank"),
        (broadcast, "must be a finite number >= 0"),
        (text, "must be a number of bytes, or 2 of them"),
    ):
        with pytest.raises(ApplicationError, match=said):
            ran(2, function)
