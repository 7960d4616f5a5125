"""The contract of every registered policy: each order × backfilling rule × allocator."""

from itertools import product

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import BackfillName
from batchlab.policy import ALLOCATORS, BACKFILLS, ORDERS

OF_NETWORKS = ("compact", "hop_bytes", "fewest_groups", "sub_torus")
# Slurm's controller selects nodes itself.
CASES = [
    (backfill, allocator)
    for backfill, allocator in product(BACKFILLS, ALLOCATORS)
    if backfill != "slurm" or allocator == "first_fit"
]
ARGUMENTS = {"random": "random(5)", "expression": 'expression("requested_time - wait_time")'}


@pytest.fixture(scope="module")
def workload() -> bl.Workload:
    """Forty jobs of one to six tasks, a few too large, with tasks of one or two cores."""
    rows = range(40)
    return bl.Workload.from_table(
        {
            "submit_time": [row // 3 for row in rows],
            "run_time": [(7 * row) % 11 for row in rows],
            "requested_time": [(7 * row) % 11 + row % 4 for row in rows],
            "tasks": [1 + row % 6 if row % 13 else 99 for row in rows],
            "core": [1 + row % 2 for row in rows],
        }
    )


@pytest.fixture(scope="module")
def system() -> bl.System:
    """Three small nodes and a large one."""
    groups = bl.NodeGroup("small", 3, {"core": 2}), bl.NodeGroup("large", 1, {"core": 8})
    return bl.System(groups)


@pytest.fixture(scope="module")
def network() -> bl.System:
    """Four equal nodes in a torus."""
    return bl.System.of(bl.Platform.torus((2, 2), bandwidth=1e9, cores=4))


@pytest.mark.parametrize(("backfill", "allocator"), CASES, ids=str)
def test_every_job_is_accounted_for(
    workload: bl.Workload,
    system: bl.System,
    network: bl.System,
    backfill: BackfillName,
    allocator: str,
) -> None:
    """A job that can fit is run for its run time after its submission; the others are rejected."""
    if backfill == "slurm" or allocator in OF_NETWORKS:
        system = network
    for order in ORDERS:
        # The one rejects every job, the other goes by a column of scores.
        if order in {"reject", "sbp"}:
            continue
        name = ARGUMENTS.get(order, order)
        policy = (
            bl.Policy.parse(f"slurm(select=cores, order={name})")
            if backfill == "slurm"
            else bl.Policy(name, backfill, allocator)
        )
        jobs = bl.simulate(workload, system, policy).jobs
        assert jobs["job_id"].equals(workload.jobs["job_id"])
        assert jobs.filter(state="rejected")["tasks"].unique().to_list() == [99]
        ran = jobs.filter(state="completed")
        assert ran.height == 36
        assert (ran["start_time"] >= ran["submit_time"]).all()
        assert (ran["end_time"] == ran["start_time"] + ran["run_time"]).all()
        assert (ran["allocated_core"] == ran["tasks"] * ran["core"]).all()


@pytest.mark.parametrize("reservations", [1, 2, 5, 100])
def test_reservations(workload: bl.Workload, system: bl.System, reservations: int) -> None:
    """Any number of reservations is a policy, more than there are jobs included."""
    jobs = bl.simulate(workload, system, bl.Policy(backfill="easy", reservations=reservations)).jobs
    assert jobs["state"].value_counts().sort("count").rows() == [("rejected", 4), ("completed", 36)]


def test_reject(workload: bl.Workload, system: bl.System) -> None:
    """Reject starts nothing, and says so of every job."""
    jobs = bl.simulate(workload, system, "reject").jobs
    assert (jobs["state"] == "rejected").all()
    assert jobs.select(pl.col("start_time", "end_time").is_null().all()).row(0) == (True, True)
