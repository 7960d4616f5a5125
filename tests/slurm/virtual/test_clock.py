"""The clocks of virtual clusters: what processes take for the time, and how long waits last."""

import getpass
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from batchlab.bridge.slurm import AutoClock, ConstantClock, RealClock, VirtualCluster, clock_of, run_real
from batchlab.errors import BridgeError
from batchlab.slurm.virtual.clock import clock_library
from batchlab.slurm.virtual.submission import Submission
from support.virtual_clusters import (
    configured,
    left_running,
    needs_compiler,
    needs_slurm,
    none_left,
    one_at_a_time,
)

# Prints what a process takes for the time: UNIX, monotonic, of a file, and how long waits of 2 s last.
CHILD = """
import os, pathlib, select, sys, threading, time
def both():
    while True:  # until the process is not interrupted in between
        before, unix, after = time.monotonic(), time.time(), time.monotonic()
        if after - before < 0.2:
            return [unix, after]
marks = both()
time.sleep(2); marks += both()
select.select([], [], [], 2); marks.append(time.monotonic())
threading.Event().wait(2); marks.append(time.monotonic())
file = pathlib.Path(sys.argv[1]); file.touch(); marks += [file.stat().st_mtime, time.time()]
print(*marks, time.process_time())
"""


def seen(clock: ConstantClock | AutoClock, folder: Path) -> list[float]:
    """Run a process under a clock, and give what it saw."""
    environment = os.environ | dict(clock.start(folder))
    command = [sys.executable, "-I", "-c", CHILD, str(folder / "file")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return [float(word) for word in done.stdout.split()]


@needs_compiler
def test_what_processes_see(tmp_path: Path) -> None:
    """All clocks go by the same factor from the real time on; waits last so long in virtual time."""
    clock = ConstantClock(20.0)
    begun, monotonic = time.time(), time.monotonic()
    unix, first, later, second, third, fourth, changed, now, used = seen(clock, tmp_path)
    real = time.monotonic() - monotonic
    assert begun <= unix <= clock.now()
    assert later - unix == pytest.approx(second - first, abs=0.5)
    for before, after in ((first, second), (second, third), (third, fourth)):
        assert after - before >= 2.0
    # Three waits of 2 s, and what the machine took besides.
    assert real >= 6.0 / 20.0
    assert now - unix <= 20.0 * real + 0.1
    assert unix < changed <= now
    # CPU clocks are left alone.
    assert used < real + 1.0
    assert clock.course().factor == pytest.approx(20.0, rel=0.05)
    clock.stop()


@needs_compiler
def test_a_clock_that_is_watched(tmp_path: Path) -> None:
    """Virtual time is fast while nothing works, and real while someone does."""
    clock = AutoClock(100.0)
    clock.start(tmp_path)
    begun = clock.now()
    calls: list[float] = []
    clock.wait_until(begun + 200.0, lambda: calls.append(clock.now()))
    assert clock.now() >= begun + 200.0
    assert clock.course().factor > 2.0
    with clock.working():
        # In this order: the process may be interrupted between the two readings.
        real, before = time.monotonic(), clock.now()
        time.sleep(0.2)
        assert clock.now() - before <= time.monotonic() - real + 0.01
    clock.stop()
    assert not any(thread.name == "virtual clock" for thread in threading.enumerate())


@needs_compiler
def test_time_never_goes_back(tmp_path: Path) -> None:
    """Also where the rate changes all the time."""
    clock = AutoClock(1000.0)
    environment = os.environ | dict(clock.start(tmp_path))
    reader = "import time\nlast = 0\nfor _ in range(200_000):\n    now = time.time_ns()\n"
    reader += "    assert now >= last, (now, last)\n    last = now\n"
    with subprocess.Popen([sys.executable, "-I", "-c", reader], env=environment) as child:  # noqa: S603
        while child.poll() is None:
            with clock.working():
                time.sleep(0.001)
            time.sleep(0.004)
    clock.stop()
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("given", "name"), [("real", "real"), ("1", "real"), ("auto", "auto"), ("8", "8"), (2.5, "2.5")]
)
def test_names(given: str | float, name: str) -> None:
    """A clock is known by its name, or its factor."""
    assert clock_of(given).name == name
    assert clock_of(clock_of(given)).name == name


@pytest.mark.parametrize("given", ["", "fast", "0", "-3", "nan", "inf", 0.5, 1e6])
def test_no_clocks(given: str | float) -> None:
    """Anything else is refused."""
    with pytest.raises(BridgeError, match=r"clock = .*; must be real, auto or a factor from 1 to 10,000\."):
        clock_of(given)


def test_fast_clocks_warn() -> None:
    """Above ten times real time the work of launching jobs lasts too long."""
    assert not ConstantClock(10.0).notes
    assert "as many times longer; use --clock auto" in ConstantClock(50.0).notes[0]
    assert RealClock().notes == AutoClock().notes == ()


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not built and cannot be, the error says what to install."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        BridgeError, match=r"needs a C compiler once, and there is none\. Install with: apt-get"
    ):
        clock_library()


@needs_slurm()
@needs_compiler
@pytest.mark.timeout(300)
def test_what_happens_to_jobs_and_nodes(tmp_path: Path) -> None:
    """Cancellations, requeues, reservations, and nodes that fail and return, at their virtual instants."""
    text = "SchedulerType=sched/backfill\nSelectType=select/linear\nSchedulerParameters=bf_interval=10\n"
    with one_at_a_time(), VirtualCluster(configured(tmp_path, text), nodes=4, clock="auto") as cluster:
        clock = cluster.clock

        def later(seconds: float) -> float:
            clock.wait_until(clock.now() + seconds)
            return clock.now()

        def start_of(job: int) -> float:
            found = cluster.command("squeue", "--noheader", f"--job={job}", "--format=%S").strip()
            return datetime.fromisoformat(found).replace(tzinfo=UTC).timestamp()

        first = cluster.submit("first", tasks=2, run_time=6000, limit=200)
        second = cluster.submit("second", tasks=2, run_time=6000, limit=200)
        begun = later(120.0)
        assert cluster.queue() == {first: "RUNNING", second: "RUNNING"}
        cluster.command("scontrol", "requeue", str(first))
        # Slurm lets a requeued job wait for two minutes.
        later(400.0)
        assert begun + 60.0 < start_of(first) < clock.now()
        cluster.command("scontrol", "update", "NodeName=n4", "State=DOWN", "Reason=test")
        # It returns by itself as soon as its slurmd registers again.
        later(60.0)
        assert "down" not in cluster.command("sinfo", "--noheader", "--nodes=n4", "--format=%T")
        cluster.cancel(first, second)
        later(120.0)
        assert not cluster.queue()
        reserved = datetime.fromtimestamp(clock.now() + 900.0, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        options = (f"StartTime={reserved}", "Duration=60", "Nodes=ALL", f"Users={getpass.getuser()}")
        cluster.command("scontrol", "create", "reservation", *options)
        short = cluster.submit("short", tasks=1, run_time=300, limit=10)
        long = cluster.submit("long", tasks=1, run_time=300, limit=30)
        later(120.0)
        assert cluster.queue() == {short: "RUNNING", long: "PENDING"}
        later(1200.0)
        assert cluster.queue() == {long: "PENDING"}
        records = cluster.completions()
    # The job of the node that failed was queued again before it was cancelled.
    assert [state in records for state in ("CANCELLED", "NODE_FAIL", "COMPLETED")] == [True] * 3
    assert none_left(str(cluster.directory)), left_running(str(cluster.directory))


@needs_slurm()
@needs_compiler
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["auto", "10"])
def test_slurm(tmp_path: Path, name: str) -> None:
    """An hour of a real Slurm: all jobs end as in real time, and nothing is left."""
    jobs = [Submission(number, 60.0 * number, 90.0, 120.0, 2, 1 + number % 8, 1) for number in range(1, 61)]
    if name != "auto":
        jobs = jobs[:2]
    # The last one is killed at its limit, as in real time within half a minute.
    last = jobs[-1]
    jobs[-1] = Submission(last.job_id, last.submit_time, 600.0, 60.0, 1, 8, 1)
    text = "SchedulerType=sched/builtin\nSelectType=select/linear\n"
    with one_at_a_time():
        cluster = VirtualCluster(configured(tmp_path, text), nodes=8, clock=name)
        real = run_real(cluster, jobs)
    ended = {job["job_id"]: job for job in real.jobs.iter_rows(named=True)}
    assert {job["slurm_state"] for key, job in ended.items() if key != last.job_id} == {"COMPLETED"}
    assert ended[last.job_id]["slurm_state"] == "TIMEOUT"
    assert 60.0 <= ended[last.job_id]["run_time"] <= 180.0
    assert all(
        job["run_time"] >= job["planned_run_time"] - 1.0
        for job in ended.values()
        if job["state"] == "completed"
    )
    assert all(job["lateness"] >= 0.0 for job in ended.values())
    assert real.course is not None
    assert real.course.factor > 1.5
    assert none_left(str(cluster.directory)), left_running(str(cluster.directory))
