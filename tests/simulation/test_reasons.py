"""Why jobs wait: by hand, in the tables, in a store, and while a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from support.schedule_cases import seeded_cases
from support.schedule_runs import observers_of, options_of, policy_of, workload_of
from support.schedule_systems import system_of

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.seam import View

JOBS = bl.Workload.from_table(
    {
        "job_id": [1, 2, 3, 4, 5, 6],
        "submit_time": [0, 0, 0, 5, 0, 0],
        "run_time": [10, 10, 10, 10, 10, 10],
        "tasks": [4, 3, 1, 1, 1, 1],
        "user": ["ann", "ben", "ben", "cat", "dan", "ann"],
        "dependency": [None, None, None, None, "afterok:1", None],
        "begin_time": [None, None, None, None, None, 12.0],
    }
)
SYSTEM = bl.System.homogeneous(
    nodes=4, resources={"core": 1}, limits=(bl.Limit("OnePerUser", per=("user",), running_jobs=1),)
)
EXPECTED = [
    (2, "resources", 0.0, 10.0),
    (3, "priority", 0.0, 10.0),
    (3, "OnePerUser", 10.0, 20.0),
    (4, "priority", 5.0, 10.0),
    (4, "resources", 10.0, 12.0),
    (4, "priority", 12.0, 20.0),
    (5, "dependency", 0.0, 10.0),
    (6, "begin_time", 0.0, 12.0),
    (6, "resources", 12.0, 20.0),
]


def of(result: bl.Result) -> list[tuple[object, ...]]:
    """Give the intervals."""
    return result.reasons.select("job_id", "reason", "start_time", "end_time").rows()


def test_by_hand(tmp_path: Path) -> None:
    """Each job has one reason at a time; a store and a file keep them."""
    result = bl.simulate(JOBS, SYSTEM, "easy", reasons=True)
    assert of(result) == EXPECTED
    assert result.jobs["reason"].null_count() == len(JOBS.jobs)
    result.write(tmp_path / "out")
    assert (tmp_path / "out" / "reasons.csv").read_text().splitlines()[1] == "2,1,resources,0.0,10.0"
    experiment = bl.Experiment(workloads=JOBS, systems=SYSTEM, policies="easy", reasons=True)
    for _ in range(2):
        kept = experiment.run(store=tmp_path / "store")
        assert of(next(iter(kept.results().values()))[0]) == EXPECTED


def test_jobs_that_never_start() -> None:
    """The table of jobs says why they wait, whether reasons are recorded or not."""
    jobs = bl.Workload.from_table({"submit_time": [0, 0, 0], "run_time": [9, 9, 9], "tasks": [3, 2, 1]})

    class Drain(bl.Observer):
        def begin(self, view: View) -> None:
            view.drain(0)
            view.drain(1)

    result = bl.simulate(
        jobs, bl.System.homogeneous(nodes=3, resources={"core": 1}), "easy", observers=[Drain()]
    )
    assert result.jobs["state"].to_list() == ["queued", "queued", "completed"]
    assert result.jobs["reason"].to_list() == ["unavailable", "unavailable", None]
    assert "rejected" not in result.metrics() or not result.metrics()["rejected"]


def test_while_a_run_goes_on() -> None:
    """The status knows the reasons, also of a job on hold; a fork goes on with the record."""
    simulation = bl.Simulation(JOBS, SYSTEM, "easy", reasons=True)
    simulation.run_until(11)
    status = simulation.status()
    reasons = [status.reason(row) for row in range(6)]
    assert reasons == [None, None, "OnePerUser", "resources", None, "begin_time"]
    fork = simulation.fork()
    fork.run_until()
    assert of(fork.result()) == EXPECTED
    restored = bl.Simulation.restore(simulation.snapshot(), JOBS, SYSTEM, "easy")
    restored.run_until()
    assert of(restored.result()) == EXPECTED


def test_asked_for_only() -> None:
    """Without reasons=True there is no record."""
    with pytest.raises(bl.ResultError, match="pass reasons=True"):
        _ = bl.simulate(JOBS, SYSTEM, "easy").reasons


@pytest.mark.parametrize("chunk", range(4))
def test_recording_changes_no_schedule(chunk: int) -> None:
    """The schedule is the same with and without."""
    for case in seeded_cases(range(chunk * 30, chunk * 30 + 30)):
        parts = workload_of(case), system_of(case.machine), policy_of(case)
        found = [
            bl.simulate(*parts, options=options_of(case), observers=observers_of(case), reasons=reasons)
            for reasons in (False, True)
        ]
        assert found[0].jobs.equals(found[1].jobs)
