"""Ctrl-C ends long work within seconds; endless loops are found and named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab import tasks

if TYPE_CHECKING:
    from pathlib import Path

# Ctrl-C should end everything within 2 s; a machine that is busy with other work may take longer.
LIMIT = 20.0

MANY_JOBS = """
import numpy as np
rows = np.arange(100_000)
table = {"submit_time": rows * 0.0, "run_time": 1.0 + rows % 997, "tasks": 1 + rows % 63}
simulation = bl.Simulation(
    bl.Workload.from_table(table), bl.System.homogeneous(nodes=64, resources={"core": 1}), POLICY
)
"""
ONE_JOB = 'workload = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})\n'
PLATFORM = 'bl.Platform.crossbar(COUNT, speed="1Gf", bandwidth="1GBps", latency=0)'
BARRIERS = (
    "from batchlab import tasks\n"
    'system = bl.System.of(bl.Platform.crossbar(64, speed="1Gf", bandwidth="1GBps", latency=0))\n'
    "task = tasks.Compute(flops=0, computation_pattern='uniform')\n"
    "phase = bl.Phase([task], iterations=2**53, barrier=True)\n"
    "job = bl.JobDescription(application=bl.Application([phase]), tasks=64)\n"
    "simulation = bl.Simulation(bl.Workload.from_jobs([job]), system, 'fcfs')\n"
)

# What is prepared, and what is broken off.
LONG = {
    "one instant under conservative": (
        MANY_JOBS.replace("POLICY", "'conservative'"),
        "simulation.run_until()",
    ),
    "one step under conservative": (MANY_JOBS.replace("POLICY", "'conservative'"), "simulation.step()"),
    "many reservations": (MANY_JOBS.replace("POLICY", "'easy(reservations=1000)'"), "simulation.run_until()"),
    "empty iterations of many ranks": (BARRIERS, "simulation.run_until()"),
}
# What may be over before the signal comes, on a fast machine.
BUILT = {
    "nodes": (
        ONE_JOB + 'system = bl.System.homogeneous(nodes=10**7, resources={"core": 1})',
        "bl.Simulation(workload, system, 'fcfs')",
    ),
    "cables": ("", PLATFORM.replace("COUNT", "10**6")),
}
PIPES = {
    "a log": "bl.read_swf(sys.argv[1])",
    "a system": "bl.read_system(sys.argv[1] + '.toml')",
    "a streamed log": "from batchlab.cli import main\n"
    "sys.exit(main(['run', sys.argv[1], '--stream', '--nodes', '2']))",
}


def broken_off(prepared: str, work: str, *arguments: str, after: float = 0.3) -> tuple[int, str]:
    """Run work in another process, and send SIGINT to it: its exit status, and what it said."""
    script = f"import sys\nimport batchlab as bl\n{prepared}\nprint('ready', flush=True)\n{work}\n"
    with subprocess.Popen(  # noqa: S603  # our own script
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            pytest.fail(f"not over {LIMIT} s after SIGINT")
        return process.returncode, said


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT for another process")
@pytest.mark.parametrize("name", [*LONG])
def test_a_long_instant(name: str) -> None:
    """A pass over many jobs, or an application's loop, is left where a signal raises."""
    status, said = broken_off(*LONG[name])
    assert status == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT for another process")
@pytest.mark.parametrize("name", [*BUILT])
def test_building(name: str) -> None:
    """Machines are built by a thread of their own."""
    status, said = broken_off(*BUILT[name], after=0.1)
    assert status == 0 or said.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", [*PIPES])
def test_a_pipe_without_a_writer(name: str, tmp_path: Path) -> None:
    """A file that nothing writes to keeps one waiting, and no longer than one wants."""
    pipe = tmp_path / "pipe"
    for path in (pipe, pipe.with_suffix(".toml")):
        os.mkfifo(path)
    status, said = broken_off("", PIPES[name], str(pipe))
    assert status in (-signal.SIGINT, 130), said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_log_from_a_pipe(tmp_path: Path) -> None:
    """A log that another process writes into a pipe is read as any other."""
    pipe = tmp_path / "log.swf"
    os.mkfifo(pipe)
    lines = [f"{row} {row} -1 60 4 -1 -1 4 100 -1 1 1 1 -1 1 -1 -1 -1" for row in range(1, 5000)]
    writer = f"open({str(pipe)!r}, 'w').write({chr(10)!r}.join({lines!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", "exec(input())"], stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(writer)
        process.stdin.close()
        assert bl.read_swf(pipe).jobs.equals(bl.read_swf(lines).jobs)


def test_a_run_goes_on_after_a_signal() -> None:
    """What was broken off in the midst of an instant goes on to the same end."""
    rows = range(3000)
    table = {
        "submit_time": [0.0 for _ in rows],
        "run_time": [1.0 + row % 97 for row in rows],
        "tasks": [1 + row % 7 for row in rows],
    }
    system = bl.System.homogeneous(nodes=8, resources={"core": 1})
    workload = bl.Workload.from_table(table)

    runs = False

    def handle(_number: int, _frame: object) -> None:
        # The alarm of a run that has ended may come later, and is of no interest then.
        if runs:
            raise InterruptedError

    simulation = bl.Simulation(workload, system, "conservative")
    before = signal.signal(signal.SIGALRM, handle)
    broken = 0
    try:
        while simulation.next_time is not None:
            try:
                runs = True
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                simulation.run_until()
                runs = False
            except InterruptedError:
                runs = False
                broken += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert broken
    assert simulation.result().jobs.equals(bl.simulate(workload, system, "conservative").jobs)


def test_an_iterator_without_end_as_nodes() -> None:
    """Of an iterator one entry more is read than the job has tasks."""

    class Endless(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for job in view.queue:
                view.start(job, nodes=iter(int, 1))

    jobs = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [2]})
    system = bl.System.homogeneous(nodes=2, resources={"core": 2})
    with pytest.raises(bl.DecisionError, match="3 tasks are placed; it has 2"):
        bl.simulate(jobs, system, Endless())


def run(phase: bl.Phase) -> bl.Result:
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0)
    job = bl.JobDescription(application=bl.Application([phase]), tasks=1)
    return bl.simulate(bl.Workload.from_jobs([job]), bl.System.of(platform), "fcfs")


def test_a_loop_in_which_no_time_passes() -> None:
    """2^53 empty iterations are no endless wait: the phase is named."""
    phase = bl.Phase([tasks.Compute(flops=[0])], iterations=2**53)
    with pytest.raises(
        bl.SimulationError,
        match=r"row 0 cannot go on at 0 s: phase 0, after \d+ iterations, loops at one instant: \d+ steps",
    ):
        run(phase)


def test_many_empty_iterations_are_done() -> None:
    """A million empty iterations are not taken for an endless loop."""
    assert run(bl.Phase([tasks.Compute(flops=[0])], iterations=10**6)).jobs["end_time"].to_list() == [0]


def test_what_ends_after_all_time_is_an_error() -> None:
    """The sum of the delays is more than a float64 can express."""
    with pytest.raises(bl.SimulationError, match=r"row 0 cannot go on at 1e308 s: .*1.8e308 s; give it less"):
        run(bl.Phase([tasks.Delay(1e308)], iterations=100))


def test_what_would_end_after_all_time_is_killed_at_its_limit() -> None:
    """A job without an end is no error where the wall time rule ends it."""
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0)
    slow = bl.Application([bl.Phase([tasks.Delay(1e308)], iterations=100)])
    job = bl.JobDescription(application=slow, tasks=1, requested_time=60)
    result = bl.simulate(bl.Workload.from_jobs([job]), bl.System.of(platform), "fcfs", walltime="kill")
    assert result.jobs.select("state", "end_time").row(0) == ("killed", 60)
