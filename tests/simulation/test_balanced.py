"""The allocator that spares GPUs and MICs."""

from __future__ import annotations

import batchlab as bl

GROUPS = (
    bl.NodeGroup("gpu", 3, {"core": 4, "gpu": 2}),
    bl.NodeGroup("plain", 1, {"core": 4}),
    bl.NodeGroup("mic", 2, {"core": 4, "mic": 1}),
    bl.NodeGroup("both", 1, {"core": 4, "gpu": 1, "mic": 1}),
)


def nodes(columns: dict[str, list[int]], groups: tuple[bl.NodeGroup, ...] = GROUPS) -> list[list[int]]:
    """Run jobs that start at once, and give their nodes in the order of the jobs."""
    count = len(columns["tasks"])
    table = {"submit_time": [0] * count, "run_time": [60] * count, **columns}
    workload = bl.Workload.from_table(table, resources=[name for name in columns if name != "tasks"])
    return bl.simulate(workload, bl.System(groups), "fcfs(allocator=balanced)").jobs["nodes"].to_list()


def test_plain_nodes_come_first_and_then_the_longer_list() -> None:
    """Node 3 is plain; of the lists gpu (0, 1, 2) and mic (4, 5, 6), equal, mic is the first."""
    one_by_one = nodes({"tasks": [1] * 7, "core": [4] * 7})
    assert [each[0] for each in one_by_one] == [3, 4, 0, 5, 1, 6, 2]


def test_nodes_with_little_free_of_the_resource_come_first() -> None:
    """A job that takes one of two GPUs makes its node the first of the list."""
    gpus = (bl.NodeGroup("gpu", 3, {"core": 8, "gpu": 2}),)
    assert nodes({"tasks": [1, 1, 1, 1], "core": [4, 8, 1, 1], "gpu": [1, 2, 0, 1]}, gpus) == [
        [0],
        [1],
        [0],
        [0],
    ]


def test_without_critical_resources_it_is_first_fit() -> None:
    """Nothing is to be spared."""
    plain = (bl.NodeGroup("plain", 3, {"core": 2}),)
    assert nodes({"tasks": [3, 1, 2], "core": [1, 1, 1]}, plain) == [[0, 1], [1], [2]]
