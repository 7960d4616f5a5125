"""Messages, links and ranks of runs with skeletons in the store."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab import Experiment
from batchlab.application.files import write_application
from batchlab.core.vocabulary import ExecutorName
from batchlab.errors import ApplicationError
from batchlab.skeleton import named


def workload(size: float = 1e6) -> bl.Workload:
    """Two jobs that send messages at the same time."""
    application = bl.Application([bl.Phase([named("alltoall", 6, {"size": size})], iterations=2)])
    job = bl.JobDescription(submit_time=0.0, tasks=6, requested_time=60.0, application=application)
    return bl.Workload.from_jobs([job, job])


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_messages_come_back(executor: ExecutorName, tmp_path: Path) -> None:
    """Tables, measures and slowdowns are those of a run by itself."""
    system = bl.System.of(bl.Platform.torus((4, 4), bandwidth=1e9))
    policy = "fcfs(allocator=random)"
    runs = Experiment(workload(), system, policy, options=bl.RunOptions(messages=True))
    finished = runs.run(executor, tmp_path / "runs")
    stored, alone = finished.results()[policy][0], bl.simulate(workload(), system, policy, messages=True)
    for name in ("messages", "links"):
        assert getattr(stored, name).equals(getattr(alone, name)), name
        assert getattr(stored, name).schema == getattr(alone, name).schema, name
    assert stored.metrics() == alone.metrics()
    assert stored.interference().equals(alone.interference())
    assert finished.table["messages_messages"].to_list() == [alone.messages["messages"].sum()]


def test_other_skeletons_are_other_runs(tmp_path: Path) -> None:
    """What is stored is found again by what ranks do, and not for others."""
    system = bl.System.of(bl.Platform.torus((4, 4), bandwidth=1e9))
    digests = []
    for size in (1e6, 2e6, 1e6):
        runs = Experiment(workload(size), system, "fcfs")
        runs.run("threads", tmp_path / "runs")
        digests.append(runs.plan()[0].key)
    assert digests[0] == digests[2] != digests[1]


def test_files_hold_no_functions(tmp_path: Path) -> None:
    """An application with a skeleton is not written as ElastiSim's JSON."""
    application = next(iter(workload().applications.values()))
    with pytest.raises(ApplicationError, match=r"app.json: a file cannot hold a skeleton"):
        write_application(application, tmp_path / "app.json")
    nested = bl.Application([bl.Phase([bl.tasks.Sequence(application.phases[0].tasks)])])
    with pytest.raises(ApplicationError, match="a file cannot hold a skeleton"):
        write_application(nested, tmp_path / "app.json")
