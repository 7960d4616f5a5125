"""Controls of rates that are written in Python go along with a snapshot."""

from dataclasses import dataclass

import batchlab as bl

JOBS = bl.Workload.from_table({"submit_time": [0, 1, 2], "run_time": [10, 10, 10], "tasks": [1, 1, 1]})
SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 2})


@dataclass(frozen=True, kw_only=True)
class Hurry(bl.RateControl):
    """The highest rate where more jobs are there than its number."""

    most: int = 1

    def rate(self, load: bl.RateLoad) -> float:
        """Give the rate."""
        return self.rates[-1] if load.present > self.most else self.rates[0]


def test_restored() -> None:
    """A restored run has the same control, with what it was given, and goes on as the original."""
    simulation = bl.Simulation(JOBS, SYSTEM, "fcfs", control=(Hurry(rates=(1.0, 4.0), most=2),))
    simulation.run_until(1.0)
    restored = bl.Simulation.restore(simulation.snapshot(), JOBS, SYSTEM, "fcfs")
    ends = []
    for each in (simulation, restored):
        each.run_until()
        ends.append(each.result().jobs["end_time"].to_list())
    assert ends[0] == ends[1]
    assert ends[0] != bl.simulate(JOBS, SYSTEM, "fcfs").jobs["end_time"].to_list()
    assert restored.result().options.controls == (Hurry(rates=(1.0, 4.0), most=2),)
