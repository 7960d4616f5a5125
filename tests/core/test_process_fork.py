"""Processes that are forked after batchlab has been used: they simulate or say what to do, and never hang."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEGIN = """
import multiprocessing, sys
import batchlab as bl
columns = {"submit_time": [0.0, 0.0, 1.0], "run_time": [1.0, 5.0, 5.0], "tasks": [1, 1, 1]}
workload = bl.Workload.from_table(columns)
system = bl.System.homogeneous(nodes=1, resources={"core": 1})
used = bl.simulate(workload, system, "easy").jobs

class Greedy(bl.Scheduler):
    def schedule(self, view):
        for job in view.candidates():
            view.start(job)
        assert len(view.queue.requested_time) == len([job.id for job in view.queue])

def ends(number):
    policy = ("easy", "conservative", Greedy())[number % 3]
    simulation = bl.Simulation(workload, system, policy)
    simulation.step()
    simulation.fork().run_until()
    simulation.look_ahead().run_until()
    again = bl.Simulation.restore(simulation.snapshot(), workload, system, policy)
    again.run_until()
    return again.now

def table(number):
    return bl.simulate(workload, system, "easy").jobs.height

def read(number):
    return len(bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]}))
"""


def run(end: str, begin: str = _BEGIN) -> subprocess.CompletedProcess[str]:
    """Run a program; one that waits for ever fails."""
    command = [sys.executable, "-W", "ignore", "-c", begin + end]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  # our own


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork by default")


def test_a_pool_that_is_forked_simulates() -> None:
    """A hundred simulations in forked workers, under rules of the kernel and of Python."""
    end = "with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(ends, range(100)))"
    done = run(end)
    assert done.stdout == f"{[11.0] * 100}\n", done.stderr


def test_a_hundred_processes_that_are_forked() -> None:
    """Each from a process whose pool of threads runs."""
    end = """
for number in range(100):
    process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(ends(0) != 11.0))
    process.start()
    process.join(20)
    assert process.exitcode == 0, (number, process.exitcode)
"""
    done = run(end)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("task", ["table", "read"])
def test_tables_name_the_method(task: str) -> None:
    """What needs the threads that a fork does not copy is an error, which says how to start processes."""
    end = f"with multiprocessing.get_context('fork').Pool(1) as pool: pool.map({task}, range(2))"
    done = run(end)
    assert "SimulationError: this process was forked after polars had been used" in done.stderr
    assert "multiprocessing.get_context('spawn')" in done.stderr


def test_a_fork_before_the_first_use_has_tables() -> None:
    """Threads that have not begun are missed by nobody."""
    begin = _BEGIN.replace("used = ", "later = lambda: ").replace("workload = ", "make = lambda: ")
    end = """
def first(number):
    return bl.simulate(make(), system, "easy").jobs.height

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(first, range(4)))
"""
    done = run(end, begin)
    assert done.stdout == "[3, 3, 3, 3]\n", done.stderr
