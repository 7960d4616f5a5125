"""Workloads with applications in experiments: known by their content, and sent to other processes."""

from pathlib import Path

import batchlab as bl
from batchlab import JobDescription, tasks
from batchlab.experiment import Experiment
from batchlab.experiment.source import as_source
from batchlab.experiment.store import Store

PLATFORM = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps")


def workload(seconds: float) -> bl.Workload:
    """Give a job that waits so long, twice, and one that waits for it."""
    application = bl.Application([bl.Phase([tasks.Idle(seconds)], iterations="twice")])
    first = JobDescription(application=application, tasks=2, arguments={"twice": 2})
    return bl.Workload.from_jobs([first, JobDescription(run_time=5, tasks=1, depends_on=[first])])


def test_content(tmp_path: Path) -> None:
    """Another application is another workload; what the store keeps is the same one."""
    sources = [as_source(workload(seconds)) for seconds in (10, 20)]
    assert sources[0].digest(0) != sources[1].digest(0)
    assert sources[0].digest(0) == as_source(workload(10)).digest(0)
    stored = sources[0].portable(Store(tmp_path)).load(0)
    assert stored.jobs.equals(workload(10).jobs)
    assert stored.applications == workload(10).applications


def test_platforms(tmp_path: Path) -> None:
    """Machines with the same nodes on other platforms are other machines."""
    step = tasks.Compute(flops=8e9, computation_pattern="all_ranks")
    job = JobDescription(application=bl.Application([bl.Phase([step])]), tasks=4)
    systems = {
        speed: bl.System.of(bl.Platform.crossbar(4, speed=speed, bandwidth="1GBps"))
        for speed in ("1Gf", "2Gf")
    }
    experiment = Experiment(bl.Workload.from_jobs([job]), systems, ["fcfs"])
    assert experiment.run(store=tmp_path).table["makespan"].to_list() == [2, 1]
    manifests = [
        bl.simulate(bl.Workload.from_jobs([job]), system, "fcfs").write(tmp_path / speed) / "manifest.json"
        for speed, system in systems.items()
    ]
    assert len({manifest.read_text("utf-8") for manifest in manifests}) == 2


def test_runs(tmp_path: Path) -> None:
    """Runs come from the simulation the first time, and from the store the second."""
    experiment = Experiment({"ten": workload(10), "twenty": workload(20)}, bl.System.of(PLATFORM), ["fcfs"])
    tables = [experiment.run(store=tmp_path).table for _ in range(2)]
    assert tables[0]["makespan"].to_list() == [25, 45]
    assert tables[1]["makespan"].to_list() == [25, 45]
