"""A small run that can be followed by hand, stopped in the middle; and a directory of runs of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.monitor import runs
from batchlab.monitor.snapshot import RunFacts, Snapshot, SnapshotExchange

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def simulation() -> bl.Simulation:
    """Give two nodes of 4 core and 8 mem; at t = 10 jobs 11 and 12 run, 13 waits, and 14 is to come.

    Job 11 has 2 cores and 1 mem on each of both nodes, job 12 a core, 5 mem and both gpu of the second.
    """
    jobs = {
        "job_id": [11, 12, 13, 14],
        "submit_time": [0, 5, 10, 50],
        "run_time": [100, 20, 30, 1],
        "requested_time": [120, 40, 30, 5],
        "tasks": [2, 1, 4, 1],
        "core": [2, 1, 2, 1],
        "mem": [1, 5, 1, 1],
        "gpu": [0, 2, 0, 0],
        "tasks_per_node": [1, 1, 2, 1],
    }
    workload = bl.Workload.from_table(jobs, resources=("core", "mem", "gpu"))
    groups = (
        bl.NodeGroup("thin", 1, {"core": 4, "mem": 8, "gpu": 0}),
        bl.NodeGroup("fat", 1, {"core": 4, "mem": 8, "gpu": 2}),
    )
    return bl.Simulation(workload, bl.System(groups, name="pair"), "fcfs")


@pytest.fixture
def snapshot(simulation: bl.Simulation) -> Snapshot:
    """Give what is known of it at t = 10, after two seconds."""
    simulation = simulation.fork()
    simulation.run_until(10)
    facts = RunFacts.of(simulation, "by hand")
    return Snapshot(facts, simulation.status(), "running", 0.0, 2.0, 0.5, 123_000_000)


@pytest.fixture
def later(simulation: bl.Simulation) -> Snapshot:
    """Give what is known of it at t = 25: job 12 has just ended on the second node, job 11 still runs."""
    simulation = simulation.fork()
    simulation.run_until(25)
    status = simulation.status(latest=9)
    return Snapshot(RunFacts.of(simulation, "by hand"), status, "running", 0.0, 2.0, 0.5, 123_000_000)


@pytest.fixture
def exchange(snapshot: Snapshot) -> SnapshotExchange:
    """Give a exchange on which nothing new will come."""
    exchange = SnapshotExchange(snapshot)
    exchange.close(snapshot)
    return exchange


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory of runs, which is not there yet."""
    monkeypatch.setenv(runs.RUNTIME_VARIABLE, str(tmp_path / "runtime"))
    return tmp_path / "runtime"
