"""When jobs were served, how often they were cut short, and what that costs."""

from pathlib import Path
from typing import Any

import pytest

import batchlab as bl
from batchlab.errors import DecisionError, SimulationError

ONE = bl.System.homogeneous(nodes=1, resources={"core": 1})
JOBS = bl.Workload.from_table({"submit_time": [0, 0, 5], "run_time": [30, 15, 10], "tasks": [1, 1, 1]})


class InTurns(bl.Scheduler):
    """Gives each job ten seconds at a time, and notes what jobs keep when they start."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, float]] = []
        self.since = 0.0

    def schedule(self, view: bl.View) -> None:
        """Suspend the job at hand, and start the one that was served least."""
        for job in view.running:
            # A pass follows at the same instant where a job was suspended.
            if len(view.queue) and view.now - self.since >= 10:
                view.suspend(job)
        for job in sorted(view.queue, key=lambda job: job.saved_time):
            if view.start(job):
                self.kept.append((job.row, job.saved_time))
                self.since = view.now
                view.wake(view.now + 10)


def rows(result: bl.Result) -> list[tuple[Any, ...]]:
    return result.service_intervals.select("row", "start_time", "end_time", "work").rows()


def test_intervals() -> None:
    """Each job's own, by row; the work of a job adds up to its run time."""
    result = bl.simulate(JOBS, ONE, "lcfs")
    assert rows(result) == [
        (0, 25.0, 55.0, 30.0),
        (1, 0.0, 5.0, 5.0),
        (1, 15.0, 25.0, 10.0),
        (2, 5.0, 15.0, 10.0),
    ]
    assert bl.service.preemptions(result).to_list() == [0, 1, 0]


def test_work_that_was_not_done() -> None:
    """A job that is killed at its limit has no work that it kept, and one that never ran no interval."""
    jobs = bl.Workload.from_table(
        {"submit_time": [0, 0], "run_time": [30, 5], "requested_time": [10, 5], "tasks": [1, 2]},
        overrun="keep",
    )
    result = bl.simulate(jobs, ONE, "fcfs", walltime="kill")
    assert rows(result) == [(0, 0.0, 10.0, None)]
    assert bl.service.preemptions(result).to_list() == [0, 0]


def test_suspend_and_saved_time() -> None:
    """A scheduler suspends and resumes; what a job keeps is what it has run."""
    scheduler = InTurns()
    result = bl.simulate(JOBS, ONE, scheduler)
    assert result.jobs["end_time"].max() == 55.0
    done = dict.fromkeys(range(3), 0.0)
    for row, begin, end, _ in sorted(rows(result), key=lambda row: row[1]):
        assert (row, done[row]) in scheduler.kept
        done[row] += end - begin
    assert list(done.values()) == [30.0, 15.0, 10.0]


def test_what_waits_cannot_be_suspended() -> None:
    """The refusal says so."""

    class Wrong(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for job in view.queue:
                view.suspend(job)

    with pytest.raises(DecisionError, match="must be running"):
        bl.simulate(JOBS, ONE, Wrong())


def test_time_of_suspending_and_resuming() -> None:
    """Nodes are held two seconds longer, and the next launch takes three more; both cost energy."""
    jobs = bl.Workload.from_table({"submit_time": [0, 4], "run_time": [10, 5], "tasks": [1, 1]})
    overheads = bl.Overheads(suspend=2, resume=3)
    power = bl.Power(bl.NodePower(idle=0.0, busy=100.0))
    result = bl.simulate(jobs, ONE, "lcfs", overheads=overheads, observers=[power])
    assert rows(result) == [(0, 0.0, 6.0, 4.0), (0, 11.0, 20.0, 6.0), (1, 6.0, 11.0, 5.0)]
    assert bl.service.preemptions(result).to_list() == [1, 0]
    # 15 s of work, 5 s of suspending and resuming.
    energy: Any = result.metrics()["energy"]
    assert energy["total"] == 100.0 * 20


def test_victims_give_up_their_nodes_at_once() -> None:
    """So suspending takes no time where a system's preemption suspends."""
    qos = (bl.QualityOfService("high", preempts=("low",)), bl.QualityOfService("low"))
    system = bl.System.homogeneous(
        nodes=1, resources={"core": 1}, qos=qos, preemption=bl.Preemption(by="qos", mode="suspend")
    )
    with pytest.raises(SimulationError, match=r"suspend = .*must be 0"):
        bl.simulate(JOBS, system, "fcfs", overheads=bl.Overheads(suspend=2))


def test_lost_time_of_jobs_served_at_rates() -> None:
    """What was kept of a run is given in seconds, so that suspended jobs lose none at any rate."""
    result = bl.simulate(JOBS, ONE, "lcfs", control="constant(2)")
    assert rows(result)[:2] == [(0, 12.5, 27.5, 30.0), (1, 0.0, 5.0, 10.0)]
    cut = result.interruptions.select("row", "start_time", "end_time", "saved")
    assert cut.rows() == [(1, 0.0, 5.0, 5.0)]
    cut_short: Any = result.metrics()["interrupted"]
    assert cut_short["lost_time"] == 0.0


def served(result: bl.Result) -> list[tuple[Any, ...]]:
    return result.service_intervals.select("work_start", "work_end", "work").rows()


DELAYS = bl.Overheads(launch=1, completion=2, suspend=2)
ALONE = bl.Workload.from_table({"submit_time": [0], "run_time": [3], "tasks": [1]})


@pytest.mark.parametrize(
    ("event", "time", "expected", "phases"),
    [
        ("kill", 4.5, (1.0, 4.0, 3.0), (1.0, 0.5)),
        ("requeue", 4.5, (1.0, 4.0, 3.0), (1.0, 0.5)),
        ("kill", 2.5, (1.0, 2.5, None), (1.0, 0.0)),
        ("kill", 0.5, (0.5, 0.5, None), (0.5, 0.0)),
        ("end", 2.0, (1.0, 2.0, 1.0), (1.0, 2.0)),
        ("end", 0.5, (0.5, 0.5, 0.0), (0.5, 2.0)),
    ],
)
def test_work_of_runs_that_events_end(
    event: str, time: float, expected: tuple[Any, ...], phases: tuple[float, float], tmp_path: Path
) -> None:
    """Work ends when completion begins, and its amount is what was served; so are the seconds of phases."""
    events = [{"time": time, "event": event, "job_id": 1}]
    result = bl.simulate(ALONE, ONE, "fcfs", overheads=DELAYS, events=events)
    assert served(result) == [expected]
    assert result.jobs.select("launch_time", "completion_time").row(0) == phases
    required, done = bl.service.work_served(result)
    assert required == done == expected[1] - expected[0]
    assert served(bl.read_result(result.write(tmp_path / "out"))) == [expected]


def test_work_that_an_event_ends_without_overheads() -> None:
    """The work of the job is what it had done by then."""
    events = [{"time": 1, "event": "end", "job_id": 1}]
    result = bl.simulate(ALONE, ONE, "fcfs", events=events)
    assert served(result) == [(0.0, 1.0, 1.0)]
    assert bl.service.work_served(result) == (1.0, 1.0)


def test_work_of_a_job_in_completion() -> None:
    """Its work has ended, although it holds its nodes."""
    jobs = bl.Workload.from_table({"submit_time": [0, 5], "run_time": [3, 1], "tasks": [1, 1]})
    simulation = bl.Simulation(jobs, ONE, "fcfs", overheads=DELAYS)
    simulation.run_until(5)
    assert served(simulation.result()) == [(1.0, 4.0, None)]


def test_rates_need_prices() -> None:
    """The error names the rate that has none, below, between and above those that have."""
    for rate in (0.5, 2.0, 5.0):
        result = bl.simulate(JOBS, ONE, "fcfs", control=f"constant({rate})")
        prices = bl.service.RatePrices(busy={1.0: 3.0, 4.0: 9.0}, idle={4.0: 2.0, 1.0: 1.0})
        with pytest.raises(bl.ResultError, match=rf"busy has no price of rate {rate:g}; .* Add it\.$"):
            bl.service.energy(result, prices)
