"""A real Slurm is told what jobs ask for, and gives it to them."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.bridge import slurm
from support.virtual_clusters import configured, needs_compiler, needs_slurm, none_left, one_at_a_time

pytestmark = [needs_slurm(), needs_compiler, pytest.mark.timeout(300)]

MACHINE = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5
GresTypes=gpu,license
NodeName=n[1-2] CPUs=8 RealMemory=8000 Gres=gpu:a100:4,license:10
NodeName=n3 CPUs=4 RealMemory=2000
"""


def test_memory_devices_and_whole_nodes(tmp_path: Path) -> None:
    """Jobs wait for memory, GPUs and idle nodes as they ask for them, and run where these are."""
    gib = 1000 * 1024
    jobs = {
        "submit_time": [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0],
        "run_time": [300.0] * 6 + [600.0],
        "requested_time": [600.0] * 6 + [60.0],
        "tasks": [2, 1, 1, 1, 2, 2, 1],
        "core": [1, 1, 1, 1, 1, 1, 1],
        # The first leaves no room for the second on n1 and n2, and the second none for the third on n3.
        "mem": [7 * gib, 2 * gib, 2 * gib, 9 * gib, gib // 2, gib // 2, gib // 10],
        "gpu": [0, 0, 0, 0, 4, 4, 0],
        "tasks_per_node": [1, 0, 0, 0, 1, 1, 0],
        "exclusive": [False, False, False, False, False, True, False],
    }
    workload = bl.Workload.from_table(jobs, resources=["core"], overrun="keep")
    configuration = slurm.read_configuration(configured(tmp_path, MACHINE))
    with one_at_a_time():
        cluster = slurm.VirtualCluster(configuration, clock="auto")
        real = slurm.run_real(cluster, slurm.submissions(workload, configuration))
    assert none_left(str(cluster.directory))
    found = {job["job_id"]: job for job in real.jobs.iter_rows(named=True)}
    assert [job["state"] for job in found.values()] == [
        *["completed"] * 3,
        "rejected",
        *["completed"] * 2,
        "killed",
    ]
    assert real.refusals.keys() == {4}
    assert [found[job]["nodes"] for job in (1, 2)] == [[0, 1], [2]]
    assert found[3]["start_time"] >= min(found[job]["end_time"] for job in (1, 2))
    # Memory is there again, then all GPUs of both nodes, one job after the other.
    assert found[6]["start_time"] >= found[5]["end_time"]
    assert found[6]["allocated_core"] == 16
    assert found[7]["slurm_state"] == "TIMEOUT"
    assert real.jobs.schema["mem"] == real.jobs.schema["gpu"] == pl.Int64
    run = slurm.run_model(real.jobs, cluster.nodes, configuration)
    assert set(run.jobs.filter(pl.col("job_id") != 4)["state"]) == {"completed"}


def test_conditions(tmp_path: Path) -> None:
    """Jobs wait for others, for a time and for places in an array, and are cancelled, as they ask."""
    jobs = {
        "job_id": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "submit_time": [float(each) for each in range(9)],
        "run_time": [60.0, 10.0, 600.0, 10.0, 10.0, 50.0, 10.0, 0.0, 10.0],
        "requested_time": [120.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 600.0, 60.0],
        "tasks": [1] * 9,
        "dependency": [
            *[None, "afterok:1", None, "afternotok:3,after:1+2", None, None],
            *["afterok:6,afterany:6_3", None, "afterok:3"],
        ],
        "begin_time": [None, None, None, None, 400.0, None, None, None, None],
        "array": [None, None, None, None, None, "0-3%1", None, None, None],
        "cancelled_after": [None] * 7 + [90.0, None],
    }
    workload = bl.Workload.from_table(jobs, overrun="keep")
    configuration = slurm.read_configuration(configured(tmp_path, "NodeName=n[1-4] CPUs=2\n"))
    with one_at_a_time():
        cluster = slurm.VirtualCluster(configuration, clock="auto")
        real = slurm.run_real(cluster, slurm.submissions(workload, configuration))
    assert none_left(str(cluster.directory))
    found = {job["job_id"]: job for job in real.jobs.iter_rows(named=True)}
    assert {number: job["state"] for number, job in found.items() if job["state"] != "completed"} == {
        3: "killed",
        8: "cancelled",
        9: "queued",
    }
    # Which can never start, and is no reason to cancel others that wait for their begin.
    assert real.left == (9,)
    assert found[2]["start_time"] >= found[1]["end_time"]
    assert found[4]["start_time"] >= max(found[3]["end_time"], 120.0)
    assert found[5]["start_time"] >= 400.0
    tasks = sorted(
        (job for job in found.values() if job["array_id"] == 6), key=lambda job: job["array_index"]
    )
    assert [job["array_index"] for job in tasks] == [0, 1, 2, 3]
    assert all(after["start_time"] >= job["end_time"] for job, after in pairwise(tasks))
    assert found[7]["start_time"] >= tasks[-1]["end_time"]
    assert found[8]["end_time"] == pytest.approx(97.0, abs=4.0)
    run = slurm.run_model(real.jobs, cluster.nodes, configuration)
    assert len(run.jobs) == len(found) - 1
    assert not set(run.jobs["state"]) - {"completed", "cancelled"}
    outcome = slurm.Outcome([], cluster.nodes, real, run)
    assert outcome.comparison is not None
    assert len(outcome.comparison) == len(found) - 2
