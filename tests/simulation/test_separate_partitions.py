"""Partitions that share no nodes do not hold up each other, and those that do are one queue (S11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Sequence

TWO = (bl.Partition("left", nodes="0-3"), bl.Partition("right", nodes="4-7"))
NESTED = (bl.Partition("big", nodes="0-3"), bl.Partition("debug", nodes="0-1"))


def machine(partitions: tuple[bl.Partition, ...], nodes: int = 8, **given: Any) -> bl.System:  # noqa: ANN401 - what a system takes
    """Build a machine of nodes with one core in partitions."""
    return bl.System.homogeneous(nodes=nodes, resources={"core": 1}, partitions=partitions, **given)


def starts(
    jobs: Sequence[tuple[float, float, int, str]],
    system: bl.System,
    policy: str,
    **columns: Any,  # noqa: ANN401 - any column
) -> list[float]:
    """Simulate jobs of a submit_time, run_time, tasks and partition; when each starts."""
    submit, run, tasks, names = zip(*jobs, strict=True)
    table = {"submit_time": submit, "run_time": run, "tasks": tasks, "partition": names, **columns}
    return (
        bl.simulate(bl.Workload.from_table(table), system, bl.Policy.parse(policy))
        .jobs["start_time"]
        .to_list()
    )


@pytest.mark.parametrize("policy", ["fcfs(backfill=none)", "easy", "easy(reservations=2)", "conservative"])
def test_nodes_of_another_partition_are_not_kept_idle(policy: str) -> None:
    """The head of the left partition keeps no job from the right one."""
    jobs = [
        (0, 500, 4, "left"),
        (1, 500, 4, "left"),
        (2, 30, 3, "right"),
        (3, 20, 4, "right"),
        (4, 5, 1, "right"),
    ]
    expected = [0, 500, 2, 32, 4 if policy != "fcfs(backfill=none)" else 52]
    assert starts(jobs, machine(TWO), policy) == expected


@pytest.mark.parametrize("policy", ["easy", "easy(reservations=2)"])
def test_wide_jobs_of_each_partition_are_protected(policy: str) -> None:
    """Short jobs that keep coming do not delay a wide job, though another partition has waited for longer."""
    narrow = [(4 + 5 * number, 30, 1, "right") for number in range(60)]
    jobs = [(0, 900, 4, "left"), (1, 900, 4, "left"), (2, 50, 3, "right"), (3, 20, 4, "right"), *narrow]
    found = starts(jobs, machine(TWO), policy)
    assert found[:5] == [0, 900, 2, 52, 4]


def test_a_partition_takes_its_nodes_from_those_within_it() -> None:
    """A wide job is not starved by jobs of a smaller partition on its nodes, which go on beside them."""
    narrow = [(2 + 5 * number, 30, 1, "debug") for number in range(60)]
    jobs = [(0, 50, 2, "big"), (1, 20, 4, "big"), *narrow]
    assert starts(jobs, machine(NESTED), "fcfs(backfill=none)")[:3] == [0, 50, 70]
    beside = (NESTED[0], bl.Partition("debug", nodes="3-4"))
    # One task fits on the node that is no other partition's.
    later = [(2, 30, 1, "debug"), (3, 30, 1, "debug")]
    assert starts([*jobs[:2], *later], machine(beside), "fcfs(backfill=none)") == [0, 50, 2, 32]


def test_a_job_of_several_partitions() -> None:
    """It closes those in which it was tried, but not one that could never hold it."""
    jobs = [
        (0, 50, 3, "left"),
        (0, 90, 3, "right"),
        (1, 20, 4, "left|right"),
        (2, 5, 1, "left"),
        (2, 5, 1, "right"),
    ]
    # It starts on the left, which lets the right one go on.
    assert starts(jobs, machine(TWO), "fcfs(backfill=none)") == [0, 0, 50, 70, 50]
    # Its reservation is on the left, where it can start first: the right one has no head.
    assert starts(jobs, machine(TWO), "easy") == [0, 0, 50, 2, 2]
    long = [*jobs[:3], (2, 60, 1, "left"), (2, 60, 1, "right")]
    assert starts(long, machine(TWO), "easy") == [0, 0, 50, 70, 2]
    small = (bl.Partition("left", nodes="0-1"), bl.Partition("right", nodes="4-7"))
    jobs = [(0, 90, 3, "right"), (1, 20, 4, "left|right"), (2, 5, 2, "left"), (2, 5, 1, "right")]
    assert starts(jobs, machine(small), "fcfs(backfill=none)") == [0, 90, 2, 110]
    assert starts(jobs, machine(small), "easy") == [0, 90, 2, 2]


def test_node_groups_of_a_partition_are_one_queue() -> None:
    """A job that waits for one group holds up those behind it in its partition, and none of another one."""
    groups = (
        bl.NodeGroup("cpu", 2, {"core": 1}),
        bl.NodeGroup("gpu", 2, {"core": 1}),
        bl.NodeGroup("old", 2, {"core": 1}),
    )
    partitions = (bl.Partition("new", groups=("cpu", "gpu")), bl.Partition("rest", groups=("old",)))
    system = bl.System(groups, partitions=partitions)
    jobs = [(0, 50, 2, "new"), (1, 20, 1, "new"), (2, 5, 1, "new"), (3, 5, 1, "rest")]
    found = starts(jobs, system, "fcfs(backfill=none)", node_group=["cpu", "cpu", "gpu", None])
    assert found == [0, 50, 50, 3]


@pytest.mark.parametrize(
    "policy", ["fcfs(backfill=none)", "fcfs(backfill=first_fit)", "easy", "easy(reservations=2)"]
)
def test_a_limit_that_blocks_holds_up_connected_partitions(policy: str) -> None:
    """Jobs on other nodes start; jobs of a partition that shares a node wait."""
    partitions = (*TWO, bl.Partition("both", nodes="3"))
    one = bl.Limit("One", per=("user",), running_jobs=1, blocks=True)
    system = machine(partitions, limits=(one,))
    jobs = [(0, 50, 1, "left"), (1, 5, 1, "left"), (2, 5, 1, "left"), (2, 5, 1, "both"), (2, 5, 1, "right")]
    users = ["ann", "ann", "ben", "cid", "dan"]
    assert starts(jobs, system, policy, user=users) == [0, 50, 50, 50, 2]
    workload = bl.Workload.from_table(
        {
            "submit_time": [job[0] for job in jobs],
            "run_time": [job[1] for job in jobs],
            "tasks": [job[2] for job in jobs],
            "partition": [job[3] for job in jobs],
            "user": users,
        }
    )
    simulation = bl.Simulation(workload, system, bl.Policy.parse(policy))
    simulation.run_until(jobs[-1][0])
    status = simulation.status()
    assert [status.reason(row) for row in range(1, 5)] == ["One", "priority", "priority", None]
