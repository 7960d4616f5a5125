"""Ranks on the nodes of jobs in runs: packed, cyclic, and as listed."""

from random import Random
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.placement import cyclic, packed
from batchlab.skeleton import named, run
from reference.rank_orders import nodes_of_ranks

if TYPE_CHECKING:
    from batchlab.core.vocabulary import RankOrder

PLATFORM = bl.Platform.torus((4, 2), bandwidth=1e9, latency=1e-6, cores=4)
SYSTEM = bl.System.of(PLATFORM)
CASES = 400


def job(ranks: int, skeleton: str, arguments: str, order: str | None) -> bl.Workload:
    table = {"submit_time": [0.0], "tasks": [ranks], "app_name": [skeleton], "app_args": [arguments]}
    columns = {**table, "requested_time": [1e6]}
    return bl.Workload.from_table({**columns, "rank_order": pl.Series([order], dtype=pl.String)})


def end(workload: bl.Workload) -> float:
    """Give when the only job ends."""
    done: float = bl.simulate(workload, SYSTEM, "fcfs").jobs["end_time"][0]
    return done


def test_rules() -> None:
    """Neighbours in a ring are on one node, or never, or as the list says."""
    skeleton = named("ring", 8, {"size": 10_000})
    times = {}
    for order, places in (
        (None, packed([0, 1], 8, 4)),
        ("packed", packed([0, 1], 8, 4)),
        ("Cyclic", cyclic([0, 1], 8, 4)),
        ("7,0,6,1,5 2 4 3", [0, 0, 1, 1, 1, 1, 0, 0]),
    ):
        times[order] = end(job(8, "ring", "size=10000", order))
        assert times[order] == run(skeleton, PLATFORM, places).time
    assert times["packed"] == times[None] < times["Cyclic"]


def test_jobs_that_name_their_skeleton() -> None:
    """The order of a job counts where its skeleton is a column, too."""
    given = {"app_name": "ring", "app_args": "size=10000"}
    times = []
    orders: tuple[RankOrder, ...] = ("packed", "cyclic")
    for order in orders:
        described = bl.JobDescription(tasks=8, requested_time=9, rank_order=order, others=given)
        times.append(end(bl.Workload.from_jobs([described])))
    assert times[0] < times[1]


def test_random_cases_equal_the_reference() -> None:
    """Jobs on nodes with different numbers of places, beside jobs that hold some."""
    for number in range(CASES):
        rng = Random(number)  # noqa: S311 - no secret
        ranks = rng.randint(2, 12)
        listed = rng.sample(range(ranks), ranks)
        order: RankOrder | list[int] = rng.choice(("packed", "cyclic", listed))
        skeleton = named("random", ranks, {"size": rng.randint(1, 100_000), "seed": number})
        carried = bl.JobDescription(
            submit_time=1.0,
            tasks=ranks,
            requested_time=1e6,
            application=bl.Application([bl.Phase([skeleton])]),
            rank_order=order,
        )
        holders = [bl.JobDescription(run_time=1e5, tasks=rng.randint(1, 5)) for _ in range(4)]
        policy = f"fcfs(allocator={rng.choice(('random', 'first_fit', 'worst_fit', 'blocks(3)'))})"
        result = bl.simulate(bl.Workload.from_jobs([*holders, carried]), SYSTEM, policy, seed=number)
        placement = result.placements.filter(pl.col("row") == 4).select("node", "tasks").rows()
        expected = run(skeleton, PLATFORM, nodes_of_ranks(placement, order)).time
        assert result.jobs["run_time"][-1] == pytest.approx(expected, rel=1e-9)


def test_one_rank_per_node() -> None:
    """Jobs that take whole nodes have one task each, or as many as the limit says."""
    table = {"submit_time": [0.0], "tasks": [8], "app_name": ["ring"], "app_args": ["size=1000"]}
    alone = run(named("ring", 8, {"size": 1000}), PLATFORM, range(8)).time
    for limit in ({"exclusive": [True], "tasks_per_node": [1]}, {"tasks_per_node": [1]}):
        workload = bl.Workload.from_table({**table, "requested_time": [9.0], **limit})
        result = bl.simulate(workload, SYSTEM, "fcfs")
        assert result.jobs["nodes"][0].to_list() == [*range(8)]
        assert result.jobs["end_time"][0] == alone


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (
            "cycle",
            r"rank_order = 'cycle'; must be packed, cyclic, mapped, or each .* Did you mean 'cyclic'",
        ),
        ("0,1,1,3", r"rank_order = '0,1,1,3'; must have each of the ranks 0 to 3 once"),
        ("0,1,2", r"must have each of the ranks 0 to 3 once"),
    ],
)
def test_what_is_refused(order: str, message: str) -> None:
    """Unknown rules, and lists that are not of the ranks of the job."""
    with pytest.raises(WorkloadError, match=message):
        job(4, "ring", "size=1", order)


def test_lists_are_for_rigid_jobs() -> None:
    """Others have no fixed number of ranks."""
    work = bl.Application([bl.Phase([bl.tasks.Idle(seconds=1.0, pattern="all_ranks")])])
    described = bl.JobDescription(tasks=2, application=work, job_type="moldable", rank_order=[1, 0])
    with pytest.raises(WorkloadError, match=r"a list is for rigid jobs; this one is moldable"):
        bl.Workload.from_jobs([described])
    with pytest.raises(WorkloadError, match=r"jobs\[0\]: rank_order = 7; must be packed, cyclic"):
        bl.Workload.from_jobs([bl.JobDescription(tasks=2, application=work, rank_order=7)])  # type: ignore[arg-type]
