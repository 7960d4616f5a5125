"""However a run on virtual nodes ends, with each clock: no process, directory or shared memory is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from batchlab.bridge.slurm import Submission, VirtualCluster, run_real
from batchlab.errors import ClusterError
from support.virtual_clusters import (
    clusters,
    configured,
    left_running,
    needs_compiler,
    needs_slurm,
    none_left,
    one_at_a_time,
    shared_memory_of,
    until,
)

pytestmark = [
    needs_slurm(),
    needs_compiler,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("clock", ["real", "5", "auto"]),
]

# A shell that starts tests in the background has them ignore Ctrl-C.
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from batchlab.cli import main
sys.exit(main(sys.argv[1:]))
"""
TEXT = "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval=2\n"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with one_at_a_time():
        yield


def runs(directory: str) -> bool:
    """Return whether a job of a cluster sleeps."""
    return any("sleep" in each for each in left_running(directory).values())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_batchlab_killed(tmp_path: Path, clock: str, number: signal.Signals) -> None:
    """Ctrl-C and SIGKILL of `batchlab vnodes` while a job runs that would run for a week."""
    week = 604_800
    table = {"submit_time": [0, week], "run_time": [week] * 2, "requested_time": [2 * week] * 2}
    pl.DataFrame(table | {"tasks": [2, 2]}).write_csv(tmp_path / "jobs.csv")
    conf = configured(tmp_path, TEXT)
    command = ["vnodes", str(tmp_path / "jobs.csv"), "--conf", str(conf), "--nodes", "2", "--clock", clock]
    before = clusters()
    with subprocess.Popen(  # noqa: S603  # our own Python
        [sys.executable, "-c", INTERRUPTIBLE, *command], stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert until(lambda: bool(clusters() - before), 60)
            (directory,) = clusters() - before
            assert until(lambda: runs(directory), 100)
            assert not shared_memory_of(directory)
        finally:
            child.send_signal(number)
        assert child.stderr is not None
        said = child.stderr.read()
    assert none_left(directory), left_running(directory)
    if number == signal.SIGINT:
        assert child.returncode == 130
        assert said.splitlines()[-1] == "batchlab: interrupted."


def test_failure(tmp_path: Path, clock: str) -> None:
    """A daemon that ends is one error with its name."""
    daemon = "slurmctld"
    cluster = VirtualCluster(configured(tmp_path, TEXT), nodes=2, clock=clock)

    def kill(_ended: int, _all: int) -> None:
        for pid, command in left_running(str(cluster.directory)).items():
            if Path(command.split()[0]).name == daemon:
                os.kill(pid, signal.SIGKILL)

    jobs = [Submission(1, 0.0, 1e6, 2e6, 40_000, 2, 1), Submission(2, 1e6, 1.0, 60.0, 1, 1, 1)]
    with pytest.raises(ClusterError, match=rf"{daemon} has ended \(SIGKILL\)"):
        run_real(cluster, jobs, progress=kill)
    assert none_left(str(cluster.directory)), left_running(str(cluster.directory))
