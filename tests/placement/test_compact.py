"""Compact placements: what each rule promises, on small machines with holes (S22)."""

from itertools import combinations
from random import Random

import pytest

import batchlab as bl
from batchlab.errors import PolicyError
from batchlab.placement import distance

TORUS = bl.System.of(bl.Platform.torus((4, 3), bandwidth=1e9, cores=1))
TREE = bl.System.of(bl.Platform.fat_tree(down=(3, 2, 2), up=(1, 1, 1), bandwidth=1e9, cores=1))
CASES = 60


def placed(system: bl.System, allocator: str, held: list[int], tasks: int) -> list[int]:
    """Place a job beside jobs of one node that hold some nodes."""
    names = [f"group{node}" for node in range(system.nodes)]
    groups = [bl.NodeGroup(name, 1, {"core": 1}) for name in names]
    split = bl.System(tuple(groups), platform=system.platform, hosts=system.hosts)
    holders = [bl.JobDescription(run_time=1e5, tasks=1, node_group=names[node]) for node in held]
    job = bl.JobDescription(submit_time=1.0, run_time=1.0, tasks=tasks)
    result = bl.simulate(bl.Workload.from_jobs([*holders, job]), split, f"easy(allocator={allocator})")
    last = result.jobs.row(-1, named=True)
    return last["nodes"] if last["start_time"] == 1.0 else []


def drawn(number: int, nodes: int) -> tuple[list[int], list[int], int]:
    """Draw which nodes are held, which are free, and how many a job takes."""
    rng = Random(number)  # noqa: S311 - no secret
    held = rng.sample(range(nodes), rng.randint(0, nodes - 5))
    free = [node for node in range(nodes) if node not in held]
    return held, free, rng.randint(2, min(5, len(free)))


@pytest.mark.parametrize("number", range(CASES))
def test_compact_is_within_twice_the_best(number: int) -> None:
    """All centres are tried: no star has fewer hops, no set less than half as many among each other."""
    held, free, tasks = drawn(number, 12)
    between = distance(TORUS)
    for by, of in (("mean_hops", sum), ("diameter", max)):
        found = placed(TORUS, f"compact(by={by})", held, tasks)
        stars = {centre: sorted(between(centre, node) for node in free)[:tasks] for centre in free}
        mine = min(of(between(centre, node) for node in found) for centre in found)
        assert mine == min(map(of, stars.values()))
        pairs = [of(between(*pair) for pair in combinations(nodes, 2)) for nodes in combinations(free, tasks)]
        assert of(between(*pair) for pair in combinations(found, 2)) <= 2 * min(pairs)


@pytest.mark.parametrize("number", range(CASES))
def test_groups_are_the_fewest(number: int) -> None:
    """The switch above all nodes is as low as can be, and no fewer groups just below it suffice."""
    held, free, tasks = drawn(number, 12)
    found = placed(TREE, "fewest_groups", held, tasks)
    spans = (1, 3, 6, 12)

    def lowest(nodes: tuple[int, ...]) -> int:
        return next(level for level, span in enumerate(spans) if len({node // span for node in nodes}) == 1)

    sets = [*combinations(free, tasks)]
    level = lowest(tuple(found))
    assert level == min(map(lowest, sets))
    below = spans[level - 1]
    beside = [nodes for nodes in sets if nodes[0] // spans[level] == found[0] // spans[level]]
    beside = [nodes for nodes in beside if lowest(nodes) <= level]
    groups = [len({node // below for node in nodes}) for nodes in (found, *beside)]
    assert groups[0] == min(groups)


@pytest.mark.parametrize("number", range(CASES))
def test_boxes_are_free(number: int) -> None:
    """A job starts exactly if a box of the smallest sufficient size is free, and stays within one."""
    held, free, tasks = drawn(number, 12)
    shapes = {2: [(2, 1), (1, 2)], 3: [(3, 1), (1, 3)], 4: [(2, 2), (4, 1)], 5: [(3, 2), (2, 3)]}
    boxes = [
        {(x + i) % 4 + 4 * ((y + j) % 3) for i in range(width) for j in range(height)}
        for width, height in shapes[tasks]
        for x in range(4)
        for y in range(3)
    ]
    fitting = [box for box in boxes if box <= {*free}]
    found = placed(TORUS, "sub_torus", held, tasks)
    assert bool(found) == bool(fitting)
    assert not found or any({*found} <= box for box in fitting)


def test_jobs_without_a_box_are_rejected() -> None:
    """A job of all nodes but one takes the box of all; one of more than all is rejected."""
    jobs = bl.Workload.from_table({"submit_time": [0.0, 0.0], "run_time": [9.0, 9.0], "tasks": [11, 13]})
    result = bl.simulate(jobs, TORUS, "conservative(allocator=sub_torus)")
    assert result.jobs["nodes"].to_list()[0] == [*range(11)]
    assert result.jobs["state"].to_list() == ["completed", "rejected"]


def test_the_order_is_that_of_the_ranks() -> None:
    """Nodes stand in the order that is given."""
    found = placed(TORUS, "compact(order=yx)", [], 5)
    assert found == sorted(found, key=lambda node: (node % 4, node // 4)) != sorted(found)
    assert placed(TORUS, "sub_torus(order=random(1))", [], 4) != placed(TORUS, "sub_torus", [], 4)


@pytest.mark.parametrize(
    ("system", "allocator", "message"),
    [
        (bl.System.homogeneous(nodes=4, resources={"core": 1}), "compact", "the system has no platform"),
        (TREE, "sub_torus", r"allocator sub_torus: .* FatTree; this needs a Torus"),
        (TORUS, "compact(by=hops)", r"by = 'hops'; must be mean_hops or diameter"),
        (TORUS, "compact(centres=0)", r"centres = 0; must be a whole number from 1"),
        (TORUS, "fewest_groups(by=hops)", r"fewest_groups takes no key 'by'"),
        (TORUS, "sub_torus(3)", r"this value of sub_torus needs a key"),
    ],
)
def test_what_is_refused(system: bl.System, allocator: str, message: str) -> None:
    """Machines without the network, and parameters that are none."""
    jobs = bl.Workload.from_table({"submit_time": [0.0], "run_time": [9.0], "tasks": [1]})
    with pytest.raises(PolicyError, match=message):
        bl.simulate(jobs, system, f"easy(allocator={allocator})")
