"""What a pass promises of the order of the queue, whatever it preempts and wherever jobs may run.

`BATCHLAB_CASES=50000 pytest -m campaign tests/properties/test_passes.py` is the campaign; a sample runs
every time.
"""

from __future__ import annotations

import os
import random
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = 300
CHUNKS = 3
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "50000"))
CAMPAIGN_CHUNK = 500
UNSEEN = 1_000_000
BACKFILLS = ("none", "easy", "easy", "conservative")


def table(rng: random.Random, widest: int, names: list[str], **columns: list[Any]) -> dict[str, list[Any]]:
    """Draw jobs that come close to each other, with estimates that are often wrong."""
    count = rng.randint(4, 16)
    run_times = [rng.choice((1, 2, 3, 5, 8, 20)) for _ in range(count)]
    return {
        "submit_time": sorted(rng.randint(0, 25) for _ in range(count)),
        "run_time": run_times,
        "requested_time": [max(1, time + rng.choice((-2, 0, 0, 0, 3, 10))) for time in run_times],
        "tasks": [min(widest, rng.choice((1, 1, 2, 3, 4, 6))) for _ in range(count)],
        "partition": [rng.choice(names) for _ in range(count)],
        **columns,
    }


def runs(result: bl.Result) -> Iterator[tuple[int, float, float]]:
    """Yield the runs of all jobs, also those that were cut short: row, start and end."""
    yield from result.interruptions.select("row", "start_time", "end_time").rows()
    started = result.jobs.with_row_index("row").filter(result.jobs["start_time"].is_not_null())
    yield from started.select("row", "start_time", "end_time").rows()


def check_strict_order(number: int) -> None:
    """Fail where a job starts while one before it waits: all want the same nodes, and none may overtake."""
    rng = random.Random(number)  # noqa: S311 - no secret
    names = ["low", "middle", "high"][: rng.randint(2, 3)]
    mode: Any = rng.choice(("requeue", "suspend", "cancel"))
    system = bl.System.homogeneous(
        nodes=rng.randint(3, 8),
        resources={"core": 1},
        partitions=tuple(bl.Partition(name, tier=tier) for tier, name in enumerate(names, start=1)),
        preemption=bl.Preemption(
            mode=mode, exempt_time=rng.choice((0, 0, 4)), youngest_first=rng.random() < 0.5
        ),
    )
    jobs = table(rng, system.nodes, names)
    result = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs(backfill=none)")
    tiers = {name: tier for tier, name in enumerate(names)}

    def place(row: int) -> tuple[float, ...]:
        return -tiers[jobs["partition"][row]], jobs["submit_time"][row], row

    own: list[list[tuple[float, float]]] = [[] for _ in jobs["tasks"]]
    for row, start, end in runs(result):
        own[row].append((start, end))
    ends = [max((end for _, end in each), default=inf) for each in own]
    for row, start, _ in runs(result):
        waiting = [
            other
            for other, submit in enumerate(jobs["submit_time"])
            if submit <= start < ends[other] and not any(begin <= start < end for begin, end in own[other])
        ]
        overtaken = [other for other in waiting if place(other) < place(row)]
        assert not overtaken, f"case {number}: at {start} row {row} overtakes {overtaken}"


def check_separate_partitions(number: int) -> None:
    """Fail where a machine of separate partitions does not do as each of them would alone.

    No job runs beyond its estimate: one that does is expected to end at the time of each pass, and passes
    are made when jobs of other partitions come and go.
    """
    rng = random.Random(number)  # noqa: S311 - no secret
    sizes = [rng.randint(2, 6) for _ in range(rng.randint(2, 4))]
    firsts = [sum(sizes[:place]) for place in range(len(sizes))]
    names = [f"part{place}" for place in range(len(sizes))]
    resources = {"core": rng.choice((1, 1, 2, 4))}
    partitions = tuple(
        bl.Partition(name, nodes=f"{first}-{first + size - 1}")
        for name, first, size in zip(names, firsts, sizes, strict=True)
    )
    system = bl.System.homogeneous(nodes=sum(sizes), resources=resources, partitions=partitions)
    widest = min(sizes) * resources["core"]
    jobs = table(rng, widest, names)
    jobs["requested_time"] = [time + rng.choice((0, 0, 3, 10)) for time in jobs["run_time"]]
    jobs["exclusive"] = [rng.random() < 0.2 and tasks <= min(sizes) for tasks in jobs["tasks"]]
    jobs["tasks_per_node"] = [1 if whole else 0 for whole in jobs["exclusive"]]
    backfill: Any = rng.choice(BACKFILLS)
    # Completions in any partition compress the plan, which may change it under other orders.
    orders: Any = ("fcfs",) if backfill == "conservative" else ("fcfs", "sjf", "ljf", "saf", "largest")
    order: Any = rng.choice(orders)
    allocator: Any = rng.choice(("first_fit", "best_fit", "worst_fit", "contiguous"))
    policy = bl.Policy(order, backfill, allocator, rng.choice((1, 2, 3)) if backfill == "easy" else 1)
    whole = schedule(jobs, system, policy)
    for name, first, size in zip(names, firsts, sizes, strict=True):
        rows = [row for row, own in enumerate(jobs["partition"]) if own == name]
        if not rows:
            continue
        own = {key: [values[row] for row in rows] for key, values in jobs.items() if key != "partition"}
        alone = schedule(own, bl.System.homogeneous(nodes=size, resources=resources), policy, first)
        assert [whole[row] for row in rows] == alone, f"case {number}: {policy}, {name} of {sizes}: {jobs}"


def schedule(
    jobs: dict[str, list[Any]], system: bl.System, policy: bl.Policy, first: int = 0
) -> list[tuple[float, float, str]]:
    """Simulate jobs; give start, end and nodes of each, numbered from `first`."""
    result = bl.simulate(bl.Workload.from_table(jobs), system, policy)
    placed = result.placements.with_columns(result.placements["node"] + first)
    nodes: dict[int, list[tuple[int, int]]] = {}
    for row, node, tasks in placed.select("row", "node", "tasks").rows():
        nodes.setdefault(row, []).append((node, tasks))
    times = result.jobs.select("start_time", "end_time").rows()
    return [(start, end, str(nodes.get(row))) for row, (start, end) in enumerate(times)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_separate_partitions_are_machines_of_their_own(chunk: int) -> None:
    """The schedule of each partition is the same with and without the others."""
    for number in range(chunk, CASES, CHUNKS):
        check_separate_partitions(number)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_preempting_passes_keep_the_order(chunk: int) -> None:
    """Under strict order no job starts while one before it waits, also in a pass that preempts that one."""
    for number in range(chunk, CASES, CHUNKS):
        check_strict_order(number)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check_strict_order(UNSEEN + number)
        check_separate_partitions(UNSEEN + number)
