"""Orders of nodes: exact small cases, and that every order has every node once."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.placement import axes_order, box_order, hilbert_order, level_order, random_order


def torus(*dimensions: int, nodes_per_router: int = 1) -> bl.System:
    return bl.System.of(
        bl.Platform.torus(dimensions, bandwidth=1e9, nodes_per_router=nodes_per_router, cores=1)
    )


SMALL = torus(4, 2, 2)


def test_axes_run_in_the_order_named() -> None:
    """The first one runs fastest."""
    assert axes_order(SMALL, "xyz") == list(range(16))
    assert axes_order(SMALL, "xzy") == [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]


def test_boxes_follow_one_another() -> None:
    """Sides are named x, y, z; within a box nodes come by number."""
    assert box_order(SMALL, (2, 1, 2)) == [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]
    assert box_order(SMALL, (2, 2, 2)) == [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]
    paper = box_order(torus(8, 6, 8), (2, 3, 2))
    assert paper[:13] == [0, 1, 8, 9, 16, 17, 48, 49, 56, 57, 64, 65, 2]


def test_boxes_follow_one_another_along_the_axes_named() -> None:
    """Here in y before x."""
    assert box_order(SMALL, (2, 1, 2), "yxz")[:8] == [0, 1, 8, 9, 4, 5, 12, 13]


def test_nodes_of_a_router_stay_together() -> None:
    order = axes_order(torus(2, 2, 1, nodes_per_router=2), "yxz")
    assert order == [0, 1, 4, 5, 2, 3, 6, 7]


@pytest.mark.parametrize(
    ("sizes", "ones", "longest", "total"),
    [
        ((4, 4, 4), 63, 1, 63),
        ((8, 8, 8), 511, 1, 511),
        ((16, 12, 24), 4595, 15, 4687),
        ((8, 6, 8), 379, 3, 391),
        ((6, 6, 6), 208, 3, 229),
    ],
)
def test_hilbert_steps(sizes: tuple[int, int, int], ones: int, longest: int, total: int) -> None:
    """On cubes of powers of two every step is to a neighbour; elsewhere nearly all are."""
    width, depth, _ = sizes
    points = [(n % width, n // width % depth, n // (width * depth)) for n in hilbert_order(torus(*sizes))]
    steps = [sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one, other in pairwise(points)]
    assert (steps.count(1), max(steps), sum(steps)) == (ones, longest, total)


def test_hilbert_small() -> None:
    """Skilling's curve on a cube, and on half of a longer one."""
    points = [(n % 2, n // 2 % 2, n // 4) for n in hilbert_order(torus(2, 2, 2))]
    cube = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1), (1, 0, 0)]
    assert points == cube
    assert hilbert_order(SMALL) == [0, 4, 5, 1, 9, 13, 12, 8, 11, 15, 14, 10, 2, 6, 7, 3]


def test_levels_of_trees_and_dragonflies() -> None:
    """By switch unless a level is named to run first."""
    tree = bl.System.of(bl.Platform.fat_tree(down=(2, 3), up=(1, 2), bandwidth=1e9, cores=1))
    assert level_order(tree) == list(range(6))
    assert level_order(tree, (2,)) == [0, 2, 4, 1, 3, 5]
    fly = bl.System.of(
        bl.Platform.dragonfly(groups=2, chassis=1, blades=2, nodes_per_blade=2, bandwidth=1e9, cores=1)
    )
    assert level_order(fly) == list(range(8))
    assert level_order(fly, (4, 2)) == [0, 4, 2, 6, 1, 5, 3, 7]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_orders_have_every_node_once(data: st.DataObject) -> None:
    """Boxes of divisors, any axes, the curve, levels, and random ones."""
    sides = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(sides), max_size=len(sides)))
    sizes = [side * count for side, count in zip(sides, counts, strict=True)]
    system = torus(*sizes, nodes_per_router=data.draw(st.integers(1, 3)))
    axes = "".join(data.draw(st.permutations("xyz"[: len(sizes)] if len(sizes) < 4 else "abcd")))
    level = data.draw(st.integers(1, len(sizes) + 1))
    orders = [
        axes_order(system, axes),
        box_order(system, sides, axes),
        hilbert_order(system),
        level_order(system, (level,)),
        random_order(system.nodes, data.draw(st.integers(0, 2**64 - 1))),
    ]
    assert all(sorted(order) == list(range(system.nodes)) for order in orders)
    boxes = box_order(system, sides, axes)
    volume = system.nodes
    for count in counts:
        volume //= count
    whole = [set(boxes[at : at + volume]) for at in range(0, system.nodes, volume)]
    assert {min(box) for box in whole} == {
        box[0] for box in (boxes[at:] for at in range(0, len(boxes), volume))
    }


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("boxes(3, 1, 2)", r"order boxes: boxes\(3, 1, 2\): side 3 does not divide 4; each side must divide"),
        ("boxes(2, 1)", r"needs 3 sides"),
        ("xy", r"the torus has the dimensions x, y, z; name each once"),
        ("levels(5)", r"levels\(5\): levels are numbers from 1 to 4"),
    ],
)
def test_refuses_what_does_not_fit_the_network(order: str, message: str) -> None:
    """The error names the order, the rule and the sizes."""
    workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]})
    with pytest.raises(bl.PolicyError, match=message):
        bl.simulate(workload, SMALL, f"fcfs(allocator=first_fit(order={order}))")


def test_refuses_systems_without_a_network() -> None:
    """The next step is named."""
    workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]})
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    with pytest.raises(bl.PolicyError, match=r"no platform; .*use System.of\(platform\)"):
        bl.simulate(workload, system, "fcfs(allocator=first_fit(order=hilbert))")
