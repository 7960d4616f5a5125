"""Controls written in Python in snapshots, forks and experiments, and the rates that a store keeps."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import batchlab as bl

SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 1})
JOBS = bl.Workload.from_table({"submit_time": [0, 0, 1, 40], "run_time": [10, 5, 5, 4], "tasks": [1] * 4})


@dataclass(frozen=True, kw_only=True)
class Hurry(bl.RateControl):
    """Serves at the highest rate while more than `most` jobs are there."""

    most: int = 1

    def rate(self, load: bl.RateLoad) -> float:
        """Give the rate."""
        return self.rates[-1] if load.present > self.most else self.rates[0]


def test_a_restored_simulation_asks_its_control() -> None:
    """Also one that was not at work yet."""
    control = Hurry(most=2, rates=(1.0, 4.0))
    simulation = bl.Simulation(JOBS, SYSTEM, "fcfs", control=control)
    expected = bl.simulate(JOBS, SYSTEM, "fcfs", control=control)
    assert expected.rates["rate"].to_list() == [1.0, 4.0, 1.0]
    for steps in range(4):
        again = bl.Simulation.restore(simulation.snapshot(), JOBS, SYSTEM, "fcfs")
        fork = simulation.fork()
        for other in (again, fork):
            other.run_until()
            assert other.result().jobs.equals(expected.jobs), steps
            assert other.result().rates.equals(expected.rates), steps
        assert again.result().options.controls == (control,)
        simulation.step()


def test_a_store_tells_controls_of_one_class_apart(tmp_path: Path) -> None:
    """Each has its own runs, whose rates are read back."""
    kept = []
    for most in (1, 2, 1):
        options = bl.RunOptions(control=Hurry(most=most, rates=(1.0, 4.0)), key_events=True)
        experiment = bl.Experiment({"few": JOBS}, SYSTEM, ["fcfs"], options=options)
        stored = experiment.run(store=tmp_path).results()["fcfs"][0]
        direct = bl.simulate(JOBS, SYSTEM, "fcfs", options=options)
        assert stored.rates.equals(direct.rates)
        assert stored.key_events.equals(direct.key_events)
        assert bl.service.mean_workload(stored) == pytest.approx(bl.service.mean_workload(direct))
        kept.append(len(list((tmp_path / "schedules").iterdir())))
    assert kept == [1, 2, 2]
