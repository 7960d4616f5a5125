"""Hops: exact means of pairs and patterns, and ranks on nodes."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.placement import box_order, custom, cyclic, distance, hops, one_per_node, packed


def torus(*dimensions: int, nodes_per_router: int = 1) -> bl.System:
    return bl.System.of(
        bl.Platform.torus(dimensions, bandwidth=1e9, nodes_per_router=nodes_per_router, cores=1)
    )


CIELO = torus(16, 12, 24, nodes_per_router=2)


def doubling(ranks: int) -> Iterator[tuple[int, int]]:
    """Recursive doubling, all messages."""
    step = 1
    while step < ranks:
        yield from ((rank, rank ^ step) for rank in range(ranks))
        step *= 2


def tree(ranks: int) -> Iterator[tuple[int, int]]:
    """Each rank to itself without its highest bit: a reduce; a broadcast goes back."""
    yield from ((rank, rank - (1 << rank.bit_length() - 1)) for rank in range(1, ranks))


@pytest.mark.parametrize(
    ("sizes", "routers", "nodes", "diameter"),
    [
        ((2, 2, 2), Fraction(12, 7), Fraction(8, 5), 3),
        ((3, 3, 3), Fraction(27, 13), Fraction(108, 53), 3),
        ((5, 4), Fraction(44, 19), Fraction(88, 39), 4),
        ((4, 4, 2), Fraction(80, 31), Fraction(160, 63), 5),
    ],
)
def test_all_pairs(sizes: tuple[int, ...], routers: Fraction, nodes: Fraction, diameter: int) -> None:
    """Means over distinct routers, and over distinct nodes with two at each router."""
    single, double = torus(*sizes), torus(*sizes, nodes_per_router=2)
    found = hops(single, range(single.nodes))
    assert (found.mean, found.most) == (routers, diameter)
    assert hops(double, range(double.nodes)).mean == nodes


@pytest.mark.parametrize(
    ("ranks", "per_node", "boxes", "blocks", "means"),
    [
        (1024, 16, (1, 1, 1), 1, (Fraction(8, 5), Fraction(3232, 1023))),
        (1024, 16, (2, 2, 2), 1, (Fraction(9, 10), Fraction(928, 341))),
        (2048, 16, (4, 3, 4), 1, (Fraction(69, 44), Fraction(7456, 2047))),
        (1024, 1, (1, 1, 1), 1, (Fraction(129, 40), Fraction(4682, 1023))),
        (1024, 1, (2, 1, 2), 1, (Fraction(29, 10), Fraction(386, 93))),
        (1024, 1, (4, 3, 4), 1, (Fraction(1439, 320), Fraction(9170, 1023))),
        (1024, 16, (1, 1, 1), 2, (Fraction(27, 10), Fraction(8864, 1023))),
        (1024, 1, (1, 1, 1), 8, (Fraction(39, 10), Fraction(2798, 341))),
    ],
)
def test_allreduce_on_cielo(
    ranks: int,
    per_node: int,
    boxes: tuple[int, int, int],
    blocks: int,
    means: tuple[Fraction, Fraction],
) -> None:
    """The first job of an empty machine, where its allocator puts it."""
    count = ranks // per_node
    jobs = bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [count]})
    order = f"boxes({', '.join(map(str, boxes))})"
    result = bl.simulate(jobs, CIELO, f"fcfs(allocator=blocks({blocks}, order={order}))")
    places = packed(result.jobs["nodes"][0].to_list(), ranks, per_node)
    assert (hops(CIELO, places, doubling(ranks)).mean, hops(CIELO, places, tree(ranks)).mean) == means


def test_other_networks() -> None:
    """Up and down a tree; over blades, chassis and groups of a dragonfly."""
    tree_of = bl.System.of(bl.Platform.fat_tree(down=(2, 2, 2), up=(1, 1, 1), bandwidth=1e9, cores=1))
    between = distance(tree_of)
    assert [between(0, node) for node in range(8)] == [0, 0, 2, 2, 4, 4, 4, 4]
    fly = bl.System.of(
        bl.Platform.dragonfly(groups=2, chassis=2, blades=2, nodes_per_blade=2, bandwidth=1e9, cores=1)
    )
    between = distance(fly)
    assert [between(0, node) for node in range(8)] == [0, 0, 1, 1, 1, 1, 2, 2]
    assert all(between(0, node) >= 1 for node in range(8, 16))


def test_ranks_on_nodes() -> None:
    """Packed, one per node, dealt around, and as given."""
    assert packed([4, 7, 5], 5, 2) == [4, 4, 7, 7, 5]
    assert one_per_node([4, 7]) == [4, 7]
    assert cyclic([4, 7, 5], 5, 2) == [4, 7, 5, 4, 7]
    assert custom([4, 7], [1, 0, 1], 2) == [7, 4, 7]
    with pytest.raises(bl.PlatformError, match="ranks = 5; 2 nodes take 4 ranks, 2 each"):
        packed([4, 7], 5, 2)
    with pytest.raises(bl.PlatformError, match="place 1 has 2 ranks; a node takes 1"):
        custom([4, 7], [1, 1], 1)
    with pytest.raises(bl.PlatformError, match="rank 0 is at place 2; places are from 0 to 1"):
        custom([4, 7], [2], 1)


@given(st.integers(1, 20), st.integers(1, 4), st.data())
def test_every_rank_is_placed_once(nodes: int, per_node: int, data: st.DataObject) -> None:
    """No node has more ranks than it takes."""
    ranks = data.draw(st.integers(0, nodes * per_node))
    for rule in (packed, cyclic):
        places = rule(range(nodes), ranks, per_node)
        assert len(places) == ranks
        assert all(places.count(node) <= per_node for node in range(nodes))


def test_boxes_keep_ranks_together() -> None:
    """A box of 2 × 1 × 2 is at most two hops wide."""
    order = box_order(torus(4, 4, 2), (2, 1, 2))
    assert hops(torus(4, 4, 2), order[:4]).most == 2
