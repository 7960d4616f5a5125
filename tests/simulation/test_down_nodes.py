"""Nodes that the description of a system has out of service (S18, 8)."""

from __future__ import annotations

import random

import pytest

import batchlab as bl
from batchlab.errors import SystemDescriptionError

POLICIES = ("fcfs", "easy", "conservative", "slurm", "slurm(select=cores)")


def system_of(down: str) -> bl.System:
    """Make six nodes of two cores."""
    return bl.System((bl.NodeGroup("n", 6, {"core": 2}),), down=down)


def test_until_an_event_brings_them_back() -> None:
    """A job of all nodes waits for the event; one of the others starts at once."""
    jobs = bl.Workload.from_table({"submit_time": [5, 5], "run_time": [60, 60], "tasks": [12, 8]})
    for kind in ("up", "add", "resume"):
        up = [{"time": 100, "event": kind, "nodes": "1-2"}]
        result = bl.simulate(jobs, system_of("1-2"), "easy", events=up)
        assert result.jobs["start_time"].to_list() == [100, 5]
        assert result.jobs["nodes"].to_list()[1] == [0, 3, 4, 5]
        assert result.events.table.filter(event=kind)["applied"].to_list() == [True]
    without = bl.simulate(jobs, system_of("1-2"), "easy")
    assert without.jobs["state"].to_list() == ["queued", "completed"]
    assert without.external_events is None
    assert without.outcome.events_applied is None


@pytest.mark.parametrize("policy", POLICIES)
def test_they_are_as_nodes_that_are_drained_before_the_first_job(policy: str) -> None:
    """Random jobs, nodes and events: the schedule is that of a stream that drains the nodes first."""
    rng = random.Random(policy)  # noqa: S311  # no secret
    for _ in range(12):
        count = rng.randint(1, 30)
        jobs = bl.Workload.from_table(
            {
                "submit_time": [10 + 5 * rng.randint(0, 20) for _ in range(count)],
                "run_time": [rng.randint(1, 100) for _ in range(count)],
                "tasks": [rng.randint(1, 10) for _ in range(count)],
            }
        )
        nodes = ",".join(map(str, sorted(rng.sample(range(6), rng.randint(1, 4)))))
        events: list[dict[str, object]] = [
            {"time": rng.randint(0, 100), "event": rng.choice(["up", "drain", "down"]), "nodes": str(node)}
            for node in rng.sample(range(6), 4)
        ]
        begin = min(float(str(event["time"])) for event in events)
        begin = min(begin, *jobs.jobs["submit_time"])
        first = [{"time": begin, "event": "drain", "nodes": nodes}]
        described = bl.simulate(jobs, system_of(nodes), policy, events=events, seed=1)
        drained = bl.simulate(jobs, system_of(""), policy, events=[*first, *events], seed=1)
        assert described.jobs.equals(drained.jobs)


def test_they_are_nodes_of_the_system() -> None:
    """Ranges that are none, or beyond the nodes, are an error."""
    with pytest.raises(SystemDescriptionError, match="down = '4-6'; must be nodes from 0 to 5"):
        system_of("4-6")
    with pytest.raises(SystemDescriptionError, match="must be ranges of node numbers"):
        system_of("n4")


def test_no_job_and_no_event() -> None:
    """Nothing happens, and nothing is recorded."""
    result = bl.simulate(
        bl.Workload.from_table({"submit_time": [], "run_time": [], "tasks": []}), system_of("0"), "easy"
    )
    assert result.jobs.is_empty()


def test_snapshots_and_forks() -> None:
    """A run that is taken up again has the nodes as it had them."""
    jobs = bl.Workload.from_table({"submit_time": [0, 50], "run_time": [60, 60], "tasks": [4, 4]})
    system = system_of("0-3")
    simulation = bl.Simulation(jobs, system, "fcfs")
    simulation.run_until(10)
    again = bl.Simulation.restore(simulation.snapshot(), jobs, system, "fcfs")
    for each in (simulation.fork(), again):
        each.run_until()
        assert each.result().jobs["start_time"].to_list() == [0, 60]
