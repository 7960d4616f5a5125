"""What a store of experiments keeps of runs at controlled rates."""

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
