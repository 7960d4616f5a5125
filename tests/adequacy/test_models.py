"""How adequate our own simulations are as models of a real Slurm, fed with the same stream."""

from functools import cache

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from support.oracles import find
from support.streams import slurm

SYSTEM = bl.System.homogeneous(nodes=32, resources={"core": 1})


def model(policy: str, seconds: float = 0.0) -> bl.Result:
    """Simulate the stream of the real runs, of which each job holds its nodes so much longer."""
    stream = pl.read_csv(find("oracles/slurm/s1.csv"))
    jobs = stream.select(
        job_id="job",
        submit_time="submit",
        run_time="sleep",
        requested_time=60 * pl.col("limit_min"),
        tasks="nodes",
    )
    overheads = bl.Overheads(launch=seconds) if seconds else None
    return bl.simulate(bl.Workload.from_table(jobs, overrun="keep"), SYSTEM, policy, overheads=overheads)


@cache
def measures(policy: str, seconds: float, runs: str = "fifo") -> list[float]:
    """Give P from both real runs."""
    result = model(policy, seconds)
    return [bl.adequacy.compare(slurm(f"{runs}_{run}"), result).P for run in "ab"]


def test_without_backfilling() -> None:
    """Without overheads fcfs is not adequate; with one number, found by one run, it is for the other."""
    reference = bl.adequacy.reference({run: slurm(run) for run in ("fifo_a", "fifo_b")})
    assert measures("fcfs", 0.0) == pytest.approx([45.39, 38.63], abs=0.005)
    grid = np.arange(0, 4.01, 0.1).round(1)
    for found_by, judged_by in ((0, 1), (1, 0)):
        best = min(grid, key=lambda seconds: measures("fcfs", seconds)[found_by])
        assert best in (1.5, 1.3)
        assert measures("fcfs", best)[judged_by] <= reference.P_max
    assert measures("fcfs", 1.5) == pytest.approx([3.48, 6.26], abs=0.005)


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_with_backfilling(policy: str, seconds: float) -> None:
    """Slurm's backfilling is neither of these rules: no model of ours is within the reference yet."""
    reference = bl.adequacy.reference({run: slurm(run) for run in ("bf_a", "bf_b")})
    assert min(measures(policy, seconds, "bf")) > reference.P_max
