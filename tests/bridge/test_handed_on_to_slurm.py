"""A real Slurm is told what jobs ask for, and gives it to them."""

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
