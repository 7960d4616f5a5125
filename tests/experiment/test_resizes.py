"""Jobs that were resized in experiments: read back as the run left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.experiment import Experiment

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.core.vocabulary import ExecutorName

TALK = bl.Application(
    [
        bl.Phase(
            [
                tasks.Compute(
                    flops=8e9, computation_pattern="uniform", bytes=8e9, communication_pattern="all_to_all"
                )
            ],
            iterations=3,
        )
    ]
)


def platform(bandwidth: str = "1GBps") -> bl.Platform:
    return bl.Platform.crossbar(4, speed="1Gf", bandwidth=bandwidth, latency=0)


def workload() -> bl.Workload:
    malleable = {"job_type": "malleable", "tasks": 2, "tasks_min": 1, "tasks_max": 4}
    return bl.Workload.from_jobs(
        [
            bl.JobDescription(application=TALK, requested_time=100, **malleable),  # type: ignore[arg-type]
            bl.JobDescription(application=TALK, submit_time=4, requested_time=50, **malleable),  # type: ignore[arg-type]
            bl.JobDescription(submit_time=9, run_time=2, tasks=1),
        ]
    )


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_resizes_come_back(executor: ExecutorName, tmp_path: Path) -> None:
    """What the store gives back is what the run itself gave, wherever it was done."""
    system = bl.System.of(platform())
    runs = Experiment(workload(), system, ["malleable", "fcfs"]).run(executor, tmp_path / "runs", workers=2)
    alone = bl.simulate(workload(), system, "malleable")
    stored = runs.results()["malleable"][0]
    assert not alone.resizes.is_empty()
    assert stored.resizes.equals(alone.resizes)
    assert stored.allocations.equals(alone.allocations)
    assert stored.jobs.equals(alone.jobs)
    assert stored.timeline.equals(alone.timeline)
    assert stored.metrics() == alone.metrics()
    assert runs.results()["fcfs"][0].resizes.is_empty()


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_records_come_back(executor: ExecutorName, tmp_path: Path) -> None:
    """So is what was recorded of tasks and of the platform."""
    system = bl.System.of(platform())
    options = bl.RunOptions(
        task_times=True, sensing=bl.Sensing(2.5, ("cluster_link_0_UP",)), sharing="fair_bottleneck"
    )
    runs = Experiment(workload(), system, "malleable", options=options)
    stored = runs.run(executor, tmp_path / "runs").results()["malleable"][0]
    alone = bl.simulate(workload(), system, "malleable", options=options)
    assert not alone.task_times.is_empty()
    assert stored.task_times.equals(alone.task_times)
    assert stored.task_times.schema == alone.task_times.schema
    assert stored.utilisation.keys() == alone.utilisation.keys()
    for name, table in alone.utilisation.items():
        assert stored.utilisation[name].equals(table), name


def test_order_of_hosts_tells_apart(tmp_path: Path) -> None:
    """Nodes are numbered by the hosts' order, so another order is another run."""
    names = [host.name for host in platform().nodes]
    systems = {
        name: bl.System.of(platform(), hosts=hosts) for name, hosts in (("up", names), ("down", names[::-1]))
    }
    assert Experiment(workload(), systems, "fcfs").run(store=tmp_path / "runs").table["run"].n_unique() == 2


def test_sharing(tmp_path: Path) -> None:
    """How a platform is shared is a part of what a run is made from, and only where it is not the usual."""
    system = bl.System.of(platform())
    usual, other = (
        Experiment(workload(), system, "fcfs", sharing=name) for name in ("max_min", "fair_bottleneck")
    )
    assert usual.options == Experiment(workload(), system, "fcfs").options
    runs = [each.run(store=tmp_path / "runs") for each in (usual, other)]
    assert runs[0].table["run"][0] != runs[1].table["run"][0]
    assert runs[1].results()["fcfs"][0].options.sharing == "fair_bottleneck"
    with pytest.raises(bl.SimulationError, match=r"sharing = 'all'"):
        Experiment(workload(), system, "fcfs", sharing="all")
