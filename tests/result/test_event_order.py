"""The order of a run's events that have the same time stamp."""

from __future__ import annotations

import random

import batchlab as bl
from batchlab.core.node_ranges import node_ranges


def told(result: bl.Result) -> list[tuple[float, str, int]]:
    return result.events.table.select("time", "event", "job_id").rows()


def test_a_job_that_ends_as_it_starts() -> None:
    """Its end stands behind its start, and both before the start of the job that follows on its node."""
    workload = bl.Workload.from_table(
        {"submit_time": [0.0, 0.0, 1.0], "run_time": [0.0, 5.0, 5.0], "tasks": [1, 1, 1]}
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    assert told(bl.simulate(workload, system, "easy")) == [
        (0.0, "submit", 1),
        (0.0, "submit", 2),
        (0.0, "start", 1),
        (0.0, "completed", 1),
        (0.0, "start", 2),
        (1.0, "submit", 3),
        (5.0, "completed", 2),
        (5.0, "start", 3),
        (10.0, "completed", 3),
    ]


def test_no_node_has_two_jobs_at_any_event() -> None:
    """In random runs with many jobs of no duration a node that a start names is free at that event."""
    system = bl.System.homogeneous(nodes=3, resources={"core": 1})
    for seed in range(100):
        rng = random.Random(seed)  # noqa: S311 - no secret
        jobs = range(rng.randint(2, 12))
        columns = {
            "submit_time": sorted(float(rng.randint(0, 4)) for _ in jobs),
            "run_time": [float(rng.choice((0, 0, 1, 2))) for _ in jobs],
            "tasks": [rng.randint(1, 3) for _ in jobs],
        }
        policy = rng.choice(("fcfs", "easy", "conservative"))
        result = bl.simulate(bl.Workload.from_table(columns), system, policy)
        held: dict[int, set[int]] = {}
        for event, job, nodes in result.events.table.select("event", "job_id", "nodes").iter_rows():
            if event == "start":
                named = {node for first, end in node_ranges(nodes) for node in range(first, end)}
                assert not named.intersection(*[set().union(*held.values())]), (seed, job)
                held[job] = named
            elif event == "completed":
                del held[job]
