"""What a simulation says of itself between two steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.core.vocabulary import JOB_STATES
from batchlab.simulation import Gauges

if TYPE_CHECKING:
    from batchlab.seam import View


def test_status_by_hand(four: bl.Workload, pair: bl.System) -> None:
    """At t = 5 job 1 has both nodes, jobs 2 and 3 wait in that order, and job 4 is not there yet."""
    simulation = bl.Simulation(four, pair, "fcfs")
    simulation.run_until(5.0)
    status = simulation.status()
    assert (status.now, status.next_time, status.finished) == (5, 10, 0)
    assert [JOB_STATES[state] for state in status.state] == ["running", "queued", "queued", "loaded"]
    assert status.counts == dict.fromkeys(JOB_STATES, 0) | {"loaded": 1, "queued": 2, "running": 1}
    assert (status.queue.tolist(), status.running.tolist()) == ([1, 2], [0])
    nodes, tasks = status.placement(0)
    assert (nodes.tolist(), tasks.tolist()) == ([0, 1], [1, 1])
    assert status.free.tolist() == [[0], [0]]
    assert status.start_time[0] == 0
    assert math.isnan(status.end_time[0])
    assert simulation.gauges() == Gauges(5.0, 2, {"core": 1.0})


def test_a_status_is_not_changed_by_what_follows(four: bl.Workload, pair: bl.System) -> None:
    """It belongs to its instant; the one at the end knows of nothing that waits or runs."""
    simulation = bl.Simulation(four, pair, "fcfs")
    simulation.run_until(5.0)
    early = simulation.status()
    simulation.run_until()
    late = simulation.status()
    assert early.counts["running"] == 1
    assert (late.counts["completed"], late.finished, late.next_time) == (4, 4, None)
    assert (late.queue.tolist(), late.running.tolist(), late.utilisation) == ([], [], {"core": 0.0})


def test_the_queue_is_in_its_own_order(four: bl.Workload, pair: bl.System) -> None:
    """The shortest job is first in the queue of sjf, whenever it came."""
    simulation = bl.Simulation(four, pair, "sjf")
    simulation.run_until(5.0)
    waiting = [row for row, state in enumerate(simulation.status().state) if JOB_STATES[state] == "queued"]
    assert simulation.status().queue.tolist() == sorted(
        waiting, key=four.jobs["requested_time"].to_list().__getitem__
    )


class Closer(bl.Observer):
    """Closes the second node at t = 4, where job 1 is."""

    def begin(self, view: View) -> None:
        view.wake(4.0)

    def wake(self, view: View) -> None:
        view.drain(1)


def test_closed_nodes_are_not_in_use(four: bl.Workload, pair: bl.System) -> None:
    """What runs there still is; what no job has can neither be taken nor counts as used."""
    simulation = bl.Simulation(four, pair, "fcfs", observers=[Closer()])
    simulation.run_until(5.0)
    busy = simulation.status()
    assert (busy.drained.tolist(), busy.free.tolist(), busy.idle.tolist()) == (
        [False, True],
        [[0], [0]],
        [[0], [0]],
    )
    simulation.run_until(10.0)
    left = simulation.status()
    assert (left.free.tolist(), left.idle.tolist()) == ([[0], [0]], [[0], [1]])
    assert left.utilisation == simulation.gauges().utilisation == {"core": 0.5}


@pytest.mark.parametrize("policy", ["easy", "conservative", "first_fit"])
def test_status_agrees_with_result(policy: str, four: bl.Workload, pair: bl.System) -> None:
    """Whenever one looks, both tell the same states, and what is free is what no running job has."""
    simulation = bl.Simulation(four, pair, policy)
    while simulation.step():
        status, table = simulation.status(), simulation.result().jobs
        assert [JOB_STATES[state] for state in status.state] == table["state"].to_list()
        free = 2 - int(status.placement_tasks.sum())
        assert int(status.free.sum()) == free
        assert simulation.gauges().utilisation == status.utilisation


@pytest.mark.parametrize("policy", ["easy", "conservative", "first_fit"])
def test_the_latest_ends_are_those_of_the_result(policy: str, four: bl.Workload, pair: bl.System) -> None:
    """In their order, each with its nodes and since when it had them, behind the running jobs."""
    simulation = bl.Simulation(four, pair, policy)
    while simulation.step():
        table = simulation.result().jobs.with_row_index("row")
        over = table.filter(table["state"].is_in(["completed", "killed"])).sort("end_time", "row")
        for latest in (0, 1, 2, 9):
            status = simulation.status(latest=latest)
            expected = over.tail(latest)
            assert status.ended.tolist() == expected["row"].to_list()
            places = range(len(status.running), len(status.running) + len(expected))
            assert [status.placement(place)[0].tolist() for place in places] == expected["nodes"].to_list()
            assert [status.allocated_since[place] for place in places] == expected["start_time"].to_list()
    with pytest.raises(bl.SimulationError, match=r"latest = -1; must be a whole number >= 0\."):
        simulation.status(latest=-1)


def test_a_resource_that_nobody_has_is_not_used(four: bl.Workload) -> None:
    """Its utilisation is no number, rather than an error."""
    system = bl.System.homogeneous(nodes=2, resources={"core": 1, "gpu": 0})
    simulation = bl.Simulation(four, system, "fcfs")
    simulation.run_until(0.0)
    assert math.isnan(simulation.status().utilisation["gpu"])
