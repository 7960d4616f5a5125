"""A private Slurm on virtual nodes: up, used, down; and down whatever ends its parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchlab.bridge.slurm import VirtualCluster
from batchlab.errors import BridgeError, ClusterError
from support.virtual_clusters import (
    configured,
    left_running,
    needs_slurm,
    none_left,
    one_at_a_time,
    until,
)

pytestmark = [needs_slurm(), pytest.mark.timeout(300)]

CHILD = """
import sys, time
from batchlab.bridge.slurm import VirtualCluster
with VirtualCluster(sys.argv[1], nodes=2) as cluster:
    cluster.submit("1", tasks=2, run_time=600, limit=20)
    while "RUNNING" not in cluster.queue().values():
        time.sleep(0.1)
    print(cluster.directory, flush=True)
    time.sleep(30)
"""


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with one_at_a_time():
        yield


def test_up_and_down(tmp_path: Path) -> None:
    """A job runs on two nodes, another is cancelled, a node drained; then nothing is left."""
    with VirtualCluster(configured(tmp_path), nodes=2, cores=4) as cluster:
        first = cluster.submit("1", tasks=5, run_time=1.5, limit=1)
        second = cluster.submit("2", tasks=8, run_time=600, limit=20)
        assert set(cluster.queue()) == {first, second}
        cluster.cancel(second)
        cluster.drain("n1")
        assert "drain" in cluster.command("sinfo", "-h", "-n", "n1", "-o", "%T")
        cluster.resume("n1")
        assert until(lambda: not cluster.queue(), 30)
        records = (cluster.directory / "log/jobcomp.txt").read_text().splitlines()
        assert len(left_running(str(cluster.directory))) >= 4
    assert sorted(line.split("JobState=")[1].split()[0] for line in records) == ["CANCELLED", "COMPLETED"]
    assert none_left(str(cluster.directory), 0)


@pytest.mark.parametrize(("number", "group"), [(signal.SIGKILL, True), (signal.SIGTERM, False)])
def test_parent_killed(tmp_path: Path, number: signal.Signals, group: bool) -> None:
    """However the process that started a cluster, or its group, ends: daemons, jobs and files are gone."""
    command = [sys.executable, "-c", CHILD, str(configured(tmp_path))]
    with subprocess.Popen(  # noqa: S603  # our own Python
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as child:
        try:
            assert child.stdout is not None
            directory = child.stdout.readline().strip()
            assert until(lambda: any("sleep" in each for each in left_running(directory).values()), 10)
        finally:
            (os.killpg if group else os.kill)(child.pid, number)
    assert none_left(directory), left_running(directory)


def test_supervisor_killed(tmp_path: Path) -> None:
    """Without its supervisor the cluster is lost; one error says so, and nothing is left."""
    with VirtualCluster(configured(tmp_path), nodes=1) as cluster:
        cluster.submit("1", tasks=1, run_time=600, limit=20)
        assert until(lambda: "RUNNING" in cluster.queue().values(), 30)
        assert cluster.supervisor is not None
        os.kill(cluster.supervisor, signal.SIGKILL)
        with pytest.raises(ClusterError, match="has gone"):
            cluster.check()
    assert none_left(str(cluster.directory))


def test_refused_configuration(tmp_path: Path) -> None:
    """What Slurm does not understand ends in one error with its own words, and nothing is left."""
    cluster = VirtualCluster(configured(tmp_path, "SchedulerType=sched/nonsense\n"), nodes=1, timeout=10)
    with pytest.raises(ClusterError, match=r"(?s)slurmctld.*(sched/nonsense|sched_nonsense)"):
        cluster.start()
    assert none_left(str(cluster.directory), 0)


def test_a_refused_job(tmp_path: Path) -> None:
    """What sbatch says is the error."""
    with (
        VirtualCluster(configured(tmp_path), nodes=1) as cluster,
        pytest.raises(ClusterError, match=r"(?i)invalid partition"),
    ):
        cluster.submit("1", tasks=1, run_time=1, limit=1, options=["--partition=none"])


def test_nodes_of_one_line(tmp_path: Path) -> None:
    """Under select/linear a job gets the smallest sufficient run of idle neighbours, as on a real machine."""
    text = "SchedulerType=sched/builtin\nSelectType=select/linear\nNodeName=n[1-6] CPUs=1\n"
    with VirtualCluster(configured(tmp_path, text)) as cluster:
        three, *_ = [
            cluster.submit(str(tasks), tasks=tasks, run_time=600, limit=20, options=["--nodelist=" + names])
            for tasks, names in ((3, "n[1-3]"), (1, "n4"))
        ]
        assert until(lambda: [*cluster.queue().values()].count("RUNNING") == 2, 30)
        cluster.cancel(three)
        assert until(lambda: three not in cluster.queue(), 30)
        pair = cluster.submit("pair", tasks=2, run_time=600, limit=20)
        assert until(lambda: cluster.queue().get(pair) == "RUNNING", 30)
        assert cluster.command("squeue", "--noheader", f"--job={pair}", "--format=%N").strip() == "n[5-6]"


def test_no_nodes(tmp_path: Path) -> None:
    """Without nodes there is no cluster."""
    with pytest.raises(BridgeError, match=r"no line NodeName=…; add one, or pass"):
        VirtualCluster(configured(tmp_path))
