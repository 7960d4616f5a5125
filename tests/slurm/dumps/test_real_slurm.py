"""Dumps of a real Slurm on virtual nodes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from batchlab.slurm import read_configuration, read_dump, translate_dump
from batchlab.slurm.dumps.jobs import FORMAT
from batchlab.slurm.virtual import VirtualCluster
from support.virtual_clusters import configured, needs_slurm, one_at_a_time

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-3] CPUs=4
PartitionName=batch Nodes=ALL Default=YES
"""
COMMANDS = {
    "squeue.json": ("squeue", "--json"),
    "squeue.txt": ("squeue", "--noconvert", "-o", FORMAT),
    "job.txt": ("scontrol", "show", "job"),
    "details.txt": ("scontrol", "-o", "-d", "show", "job"),
    "sinfo.json": ("sinfo", "--json"),
    "node.txt": ("scontrol", "show", "node"),
    "reservation.txt": ("scontrol", "show", "reservation"),
}


@needs_slurm()
@pytest.mark.timeout(300)
def test_dumps_of_a_real_slurm(tmp_path: Path) -> None:
    """Every form has the same jobs on the same nodes, and no busy CPU is left over."""
    folder = configured(tmp_path, CONFIGURATION)
    with one_at_a_time(), VirtualCluster(folder) as cluster:
        cluster.submit("wide", tasks=8, run_time=120, limit=5)
        cluster.submit("sweep", tasks=1, run_time=120, limit=5, options=["--array=0-7%2"])
        cluster.submit("waits", tasks=12, run_time=60, limit=5)
        cluster.drain("n3")
        deadline = time.monotonic() + 60
        while sum(state == "RUNNING" for state in cluster.queue().values()) < 1:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        time.sleep(3)
        for name, command in COMMANDS.items():
            (tmp_path / name).write_text(cluster.command(*command))
        now = time.time()
    found = []
    for jobs in ("squeue.json", "squeue.txt", "job.txt", "details.txt"):
        for nodes in ("sinfo.json", "node.txt"):
            state = read_dump(
                tmp_path / jobs,
                now=now,
                nodes=tmp_path / nodes,
                reservations=tmp_path / "reservation.txt",
            )
            made = translate_dump(state, read_configuration(folder))
            assert made.system.down == "2"
            found.append(sorted(made.running.select("job_id", "nodes", "node_tasks").rows()))
    assert found[0]
    assert all(each == found[0] for each in found)
