"""Timers: whom they wake, what they keep going, and when a run that has only timers left is given up."""

import pytest

import batchlab as bl
from batchlab.seam import View

ONE_NODE = bl.System.homogeneous(nodes=1, resources={"core": 1})
ONE_JOB = bl.Workload.from_table({"submit_time": [0.0], "run_time": [60.0], "tasks": [1]})


class Clock(bl.Observer):
    """Wakes every so many seconds without end; may close the node before the run."""

    def __init__(self, every: float, *, watching: bool = False, close: bool = False) -> None:
        self.every = every
        self.watching = watching
        self.close = close
        self.times: list[float] = []

    def begin(self, view: View) -> None:
        """Set the first timer."""
        if self.close:
            view.drain(0)
        view.wake(0.0, watching=self.watching)

    def wake(self, view: View) -> None:
        """Set the next timer."""
        self.times.append(view.now)
        view.wake(view.now + self.every, watching=self.watching)


@pytest.mark.parametrize("watching", [False, True])
def test_finished_run_ends(watching: bool) -> None:
    """Timers without end do not keep a run going whose jobs are done."""
    clock = Clock(25.0, watching=watching)
    result = bl.simulate(ONE_JOB, ONE_NODE, "easy", observers=[clock])
    assert clock.times == [0.0, 25.0, 50.0]
    assert result.outcome.now == 60.0


def test_stale_events_keep_nothing_going() -> None:
    """The end that a killed job would have had is no reason to wait for it."""

    class Killer(Clock):
        def wake(self, view: View) -> None:
            super().wake(view)
            if view.now == 20.0:
                view.kill(view.running[0])

    clock = Killer(10.0)
    result = bl.simulate(ONE_JOB, ONE_NODE, "easy", observers=[clock])
    assert result.jobs["state"].to_list() == ["killed"]
    assert clock.times == [0.0, 10.0, 20.0]


@pytest.mark.parametrize("policy", ["fcfs", "first_fit", "easy", "easy(reservations=2)", "conservative"])
def test_waiting_in_vain_ends(policy: str) -> None:
    """Where the node stays closed, the job stays queued and the run ends, whatever watches it."""
    clock = Clock(25.0, watching=True, close=True)
    result = bl.simulate(ONE_JOB, ONE_NODE, policy, observers=[clock])
    assert result.jobs["state"].to_list() == ["queued"]
    assert len(clock.times) <= 1


def test_stuck() -> None:
    """Timers that go on while a job waits in vain are given up in the end, with an error that says why."""
    simulation = bl.Simulation(ONE_JOB, ONE_NODE, "easy", observers=[Clock(60.0, close=True)])
    simulation.run_until(3600.0)
    with pytest.raises(bl.SimulationError, match=r"250000 timers .* waiting: 1, running: 0.*watching=True"):
        simulation.run_until()
    assert simulation.result().jobs["state"].to_list() == ["queued"]


def test_stuck_at_one_instant() -> None:
    """So are timers that are set for the present again and again."""
    with pytest.raises(bl.SimulationError, match="at 0 s the run is stuck"):
        bl.simulate(ONE_JOB, ONE_NODE, "easy", observers=[Clock(0.0)])


def test_node_that_opens_late() -> None:
    """However many timers pass: a job waits until its node opens."""

    class Opener(Clock):
        def wake(self, view: View) -> None:
            super().wake(view)
            if view.now >= 30_000.0:
                view.resume(0)

    result = bl.simulate(ONE_JOB, ONE_NODE, "conservative", observers=[Opener(60.0, close=True)])
    assert result.jobs["start_time"].to_list() == [30_000.0]


def test_acts_that_change_nothing() -> None:
    """Closing a closed node, or withholding what is withheld, notifies no observer."""
    told: list[tuple[str, int]] = []

    class Twice(bl.Observer):
        def begin(self, view: View) -> None:
            for _ in range(2):
                view.drain(0)
                view.resume(0)
                view.resume(0)
                view.reserve_capacity(0, {"core": 1})
                view.reserve_capacity(0, {"core": 1})
                view.reserve_capacity(0, {"core": 0})

        def node_drained(self, node: int, view: View) -> None:
            told.append(("closed", node))

        def node_changed(self, node: int, view: View) -> None:
            told.append(("changed", node))

    bl.simulate(ONE_JOB, ONE_NODE, "fcfs", observers=[Twice()])
    assert told == [("closed", 0), ("changed", 0), ("changed", 0)] * 2
