"""What observers saw goes wherever results go: plots, files, stores of experiments."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.plot.placement import placements, rectangles
from batchlab.seam import View

SYSTEM = bl.System.homogeneous(nodes=3, resources={"core": 2})
WORKLOAD = bl.Workload.from_table(
    {"submit_time": [0.0, 0.0, 5.0], "run_time": [100.0, 80.0, 10.0], "tasks": [4, 2, 1]}
)


def observers() -> list[bl.Observer]:
    """Give power, and a failure that cuts the first job short."""
    power = bl.Power(bl.NodePower(idle=10, busy=20, per_unit={"core": 3}))
    failures = bl.Failures(
        {"node": [0], "time": [30.0], "repair_time": [20.0]}, on_failure="checkpoint", every=20
    )
    return [power, failures]


def test_plots_show_runs_that_were_cut_short() -> None:
    """A run that was cut short is where it was until it was, and counts in the use over time."""
    result = bl.simulate(WORKLOAD, SYSTEM, "first_fit", observers=observers())
    placed = placements(result)
    runs = sorted(zip(placed.row.tolist(), placed.node.tolist(), placed.start, placed.end, strict=True))
    assert runs[:4] == [(0, 0, 0, 30), (0, 0, 50, 130), (0, 1, 0, 30), (0, 1, 50, 130)]
    area = placed.share * (placed.end - placed.start)
    drawn = rectangles(placed)
    assert ((drawn.end - drawn.start) * (drawn.high - drawn.low)).sum() == pytest.approx(area.sum())
    line = bl.plot.utilisation(result).lines[0]
    at = np.searchsorted(np.asarray(line.get_xdata()), [10.0, 35.0], side="right") - 1
    assert np.asarray(line.get_ydata())[at] == pytest.approx([1.0, 0.5])


def test_files_hold_what_was_observed(tmp_path: Path) -> None:
    """The columns of jobs are in ``jobs.csv``, the sums in ``metrics.json``."""
    result = bl.simulate(WORKLOAD, SYSTEM, "first_fit", observers=observers())
    directory = result.write(tmp_path / "out")
    table = pl.read_csv(directory / "jobs.csv")
    assert table["restarts"].to_list() == [1, 0, 0]
    assert table["energy"].to_list() == result.jobs["energy"].to_list()
    assert '"interrupted"' in (directory / "metrics.json").read_text()


def test_stores_keep_what_was_observed(tmp_path: Path) -> None:
    """A run from the store has the observations, interruptions and measures of one that was just made."""
    experiment = bl.Experiment(
        workloads={"three": WORKLOAD},
        systems={"small": SYSTEM},
        policies=["first_fit"],
        observers=observers(),
    )
    runs = experiment.run(store=tmp_path / "runs")
    stored = next(iter(runs.results().values()))[0]
    fresh = bl.simulate(WORKLOAD, SYSTEM, "first_fit", observers=observers())
    assert stored.metrics() == fresh.metrics()
    assert stored.interruptions.equals(fresh.interruptions)
    assert stored.jobs.equals(fresh.jobs)
    assert stored.observations.keys() == fresh.observations.keys()
    assert all(stored.observations[name].equals(table) for name, table in fresh.observations.items())


class OfJobs(bl.Observer):
    """Gives columns of jobs, right or wrong."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table

    def observations(self, view: View) -> dict[str, pl.DataFrame]:
        """Give the table."""
        return {"jobs": self.table}


def test_own_columns_of_jobs() -> None:
    """Any observer may add columns; they must have a value per job."""
    right = OfJobs(pl.DataFrame({"colour": ["red", "green", "blue"]}))
    result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", observers=[right])
    assert result.jobs["colour"].to_list() == ["red", "green", "blue"]
    wrong = OfJobs(pl.DataFrame({"colour": ["red"]}))
    with pytest.raises(bl.SimulationError, match="OfJobs observed 1 rows of jobs; must be 3, one per job"):
        bl.simulate(WORKLOAD, SYSTEM, "fcfs", observers=[wrong])


@pytest.mark.parametrize("name", ["state", "nodes", "reason", "allocated_core", "job_id"])
def test_columns_of_jobs_that_every_result_has(name: str) -> None:
    """Are refused, rather than found twice in the table."""
    wrong = OfJobs(pl.DataFrame({name: [1, 2, 3]}))
    with pytest.raises(bl.SimulationError, match=f"OfJobs observed '{name}' of jobs, which result.jobs has"):
        bl.simulate(WORKLOAD, SYSTEM, "fcfs", observers=[wrong])


def test_observations_that_are_no_tables() -> None:
    """Are refused by name."""
    wrong = OfJobs({"colour": ["red"] * 3})  # type: ignore[arg-type]
    with pytest.raises(
        bl.SimulationError, match=r"observed .* as 'jobs'; must be a polars or pandas DataFrame"
    ):
        bl.simulate(WORKLOAD, SYSTEM, "fcfs", observers=[wrong])
