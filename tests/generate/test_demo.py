"""The workload of the demonstration."""

import numpy as np
import pytest

from batchlab.errors import WorkloadError
from batchlab.generate.demo import demo_system, demo_workload


def test_the_same_seed_gives_the_same_jobs() -> None:
    """And another seed gives others."""
    assert demo_workload(seed=3).jobs.equals(demo_workload(seed=3).jobs)
    assert not demo_workload(seed=3).jobs.equals(demo_workload(seed=4).jobs)


@pytest.mark.parametrize("jobs", [1, 2, 2000])
def test_every_job_can_run(jobs: int) -> None:
    """Jobs fit the machine, ask for at least what they need, and come in order of time."""
    workload = demo_workload(jobs)
    table, system = workload.jobs, demo_system()
    assert len(table) == jobs
    assert 1 <= table["tasks"].to_numpy().min() <= table["tasks"].to_numpy().max() <= system.total["core"]
    assert (table["run_time"] >= 1).all()
    assert (table["requested_time"] >= table["run_time"]).all()
    assert table["submit_time"].is_sorted()
    assert table["submit_time"][0] == 0
    assert workload.report.kept == jobs


def test_the_machine_is_well_loaded() -> None:
    """The jobs ask for about 90 % of what the machine can do while they arrive."""
    jobs = demo_workload().jobs.select("tasks", "run_time", "submit_time").to_numpy()
    offered = (jobs[:, 0] * jobs[:, 1]).sum() / (demo_system().total["core"] * jobs[:, 2].max())
    assert offered == pytest.approx(0.9, abs=0.02)


def test_days_have_a_cycle() -> None:
    """More jobs are submitted at the busiest hour than twice those of the quietest."""
    hour = (demo_workload(20_000).jobs["submit_time"].to_numpy() / 3600 + 8) % 24
    counts = np.histogram(hour, bins=24, range=(0, 24))[0]
    assert counts.max() > 2 * counts.min()
    assert 11 <= counts.argmax() <= 17


def test_no_jobs_are_refused() -> None:
    """There is nothing to show of nothing."""
    with pytest.raises(WorkloadError, match="jobs = 0; must be a whole number from 1 to"):
        demo_workload(0)
