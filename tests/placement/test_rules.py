"""Rules of taking nodes in an order: exact small cases of whole nodes (S22)."""

import batchlab as bl


def nodes(jobs: list[tuple[float, int, float]], system_nodes: int, allocator: str) -> list[list[int]]:
    """Give the nodes of jobs of a submit time, a number of whole nodes, and a run time."""
    submit, tasks, run = zip(*jobs, strict=True)
    table = {"submit_time": submit, "tasks": tasks, "run_time": run, "requested_time": run}
    workload = bl.Workload.from_table(table)
    system = bl.System.homogeneous(nodes=system_nodes, resources={"core": 1})
    found: list[list[int]] = (
        bl.simulate(workload, system, f"fcfs(allocator={allocator})").jobs["nodes"].to_list()
    )
    return found


def test_freed_nodes_go_to_the_tail() -> None:
    """In the order in which the jobs had them, also where that is not by number."""
    jobs = [(0.0, 2, 10.0), (0.0, 2, 5.0), (1.0, 3, 4.0), (10.0, 4, 1.0)]
    assert nodes(jobs, 6, "round_robin") == [[0, 1], [2, 3], [4, 5, 2], [3, 4, 5, 2]]


def test_long_jobs_take_the_last_nodes() -> None:
    """Listed in the order; long is a job of the threshold already."""
    jobs = [(0.0, 2, 3.0), (1.0, 3, 100.0), (2.0, 1, 90.0), (2.5, 2, 100.0), (4.0, 2, 1.0)]
    expected = [[0, 1], [5, 6, 7], [2], [3, 4], [0, 1]]
    assert nodes(jobs, 8, "dual_end(threshold=100)") == expected
    assert nodes([(0.0, 2, 1.0), (0.0, 3, 1.0)], 8, "dual_end(threshold=3, by=nodes)") == [[0, 1], [5, 6, 7]]


def test_blocks_of_the_free_nodes() -> None:
    """List and request are cut alike, the first parts one longer."""
    assert nodes([(0.0, 4, 9.0), (0.0, 5, 9.0)], 10, "blocks(3)") == [[0, 1, 4, 7], [2, 3, 5, 6, 8]]
    assert nodes([(0.0, 8, 9.0)], 16, "blocks(4)") == [[0, 1, 4, 5, 8, 9, 12, 13]]
    assert nodes([(0.0, 8, 9.0)], 16, "blocks") == [[0, 1, 2, 3, 8, 9, 10, 11]]


def test_blocks_of_the_machine() -> None:
    """What a block lacks are the first nodes that are left."""
    jobs = [(0.0, 4, 9.0), (1.0, 2, 9.0)]
    assert nodes(jobs, 8, "blocks(2, of=machine)") == [[0, 1, 4, 5], [2, 6]]
    filled = [(0.0, 1, 9.0), (1.0, 2, 9.0), (2.0, 4, 9.0)]
    assert nodes(filled, 8, "blocks(4, of=machine)") == [[0], [1, 2], [3, 4, 5, 6]]


def test_windows_in_an_order() -> None:
    """Neighbours are those of the order."""
    torus = bl.System.of(bl.Platform.torus((4, 2), bandwidth=1e9, cores=1))
    workload = bl.Workload.from_table({"submit_time": [0.0, 1.0], "run_time": [9.0, 9.0], "tasks": [1, 3]})
    result = bl.simulate(workload, torus, "fcfs(allocator=contiguous(order=yx))")
    assert result.jobs["nodes"].to_list() == [[0], [4, 1, 5]]
