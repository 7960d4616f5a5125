"""Controls written in Python: a subclass of `RateControl` with one method."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 1})
JOBS = bl.Workload.from_table({"submit_time": [0, 1, 2, 30], "run_time": [8, 6, 3, 5], "tasks": [2, 3, 1, 4]})
RATES = (1.0, 2.0)


class ByCount(bl.RateControl):
    """The rule ``count(1, 2)``, in Python."""

    def rate(self, load: bl.RateLoad) -> float | None:
        """Go up when more than two jobs are there, down when one is left."""
        if load.event == "arrival":
            return self.rates[1] if load.present > 2 else None
        return self.rates[0] if load.present <= 1 else None


class Wrong(bl.RateControl):
    """Gives what no rate is."""

    def rate(self, load: bl.RateLoad) -> float | None:
        """Give the workload, below zero."""
        return -load.workload


class WithoutRule(bl.RateControl):
    """Has no method."""


@pytest.mark.parametrize("policy", ["fcfs", "easy", "lcfs", "spf", "server_filling"])
def test_it_is_the_built_in_rule(policy: str) -> None:
    """The same ends and rates as those of the rule in the kernel, event by event."""
    runs = [
        bl.simulate(JOBS, SYSTEM, policy, control=control, key_events=True)
        for control in (ByCount(rates=RATES), bl.CountHysteresis(1, 2, rates=RATES))
    ]
    assert len(runs[0].rates) > 1
    for name in ("jobs", "rates", "key_events"):
        assert getattr(runs[0], name).equals(getattr(runs[1], name)), name


def test_what_it_is_shown() -> None:
    """Each arrival and departure, with what is there after it."""
    seen: list[bl.RateLoad] = []

    class Watching(bl.RateControl):
        def rate(self, load: bl.RateLoad) -> float | None:
            seen.append(load)
            return None

    result = bl.simulate(JOBS, SYSTEM, "fcfs", control=Watching(rates=(2.0,)), key_events=True)
    names = ("event", "time", "present", "workload", "weighted_workload", "rate")
    expected = result.key_events.select(*names).rows()
    found = [
        (load.event, load.now, load.present, load.workload, load.weighted_workload, load.rate)
        for load in seen
    ]
    assert found == expected
    assert [load.event for load in seen].count("departure") == 4


def test_forks_and_snapshots() -> None:
    """Both go on as the run itself does."""
    whole = bl.simulate(JOBS, SYSTEM, "fcfs", control=ByCount(rates=RATES))
    simulation = bl.Simulation(JOBS, SYSTEM, "fcfs", control=ByCount(rates=RATES))
    simulation.run_until(3)
    copies = [simulation.fork(), pickle.loads(pickle.dumps(simulation))]  # noqa: S301  # our own
    for copied in copies:
        copied.run_until(1e9)
        assert copied.result().jobs.equals(whole.jobs)
        assert copied.result().rates.equals(whole.rates)


def test_stored_runs_are_told_apart(tmp_path: Path) -> None:
    """Two controls of one class are two runs of an experiment."""

    def mean(rate: float) -> float:
        experiment = bl.Experiment(JOBS, SYSTEM, "fcfs", control=ByCount(rates=(1.0, rate)))
        return float(experiment.run(store=tmp_path).table["turnaround_mean"].item())

    found = [mean(rate) for rate in (2.0, 8.0, 2.0)]
    assert found[0] == found[2] > found[1]


def test_names() -> None:
    """A control of one's own is named by its class and what is not as usual."""
    assert str(ByCount()) == "ByCount"
    assert str(ByCount(rates=(1.0, 3.0), groups=("fat",))) == "ByCount(rates=[1, 3], groups=['fat'])"


def test_errors() -> None:
    """Rates are checked, and the method must be there."""
    with pytest.raises(SimulationError, match=r"^control = Wrong: rate = -8.0; must be a finite number >= 0"):
        bl.simulate(JOBS, SYSTEM, "fcfs", control=Wrong())
    with pytest.raises(SimulationError, match=r"control = WithoutRule; must define rate\(load\)"):
        bl.simulate(JOBS, SYSTEM, "fcfs", control=WithoutRule())


def test_a_look_ahead_asks_no_control() -> None:
    """Nor about an event of the instant at which it begins: jobs take their estimates, whatever the rates."""

    class Killer(bl.Observer):
        """Kills a job, which the control is asked about, and looks ahead before that."""

        name = "killer"
        states: tuple[str, ...] = ()

        def begin(self, view: bl.View) -> None:
            view.wake(5.0)

        def wake(self, view: bl.View) -> None:
            view.kill(view.job(0))
            ahead = view.fork()
            ahead.run_until()
            self.states = tuple(ahead.result().jobs["state"])

    jobs = bl.Workload.from_table({"submit_time": [0, 0], "run_time": [10, 10], "tasks": [4, 4]})
    killer = Killer()
    result = bl.simulate(jobs, SYSTEM, "fcfs", control=ByCount(rates=RATES), observers=[killer])
    assert killer.states == tuple(result.jobs["state"]) == ("killed", "completed")
