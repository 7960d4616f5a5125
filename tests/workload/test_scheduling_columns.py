"""The columns `queue_name` and `sched_args`: they choose the queue and the initial score."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError


def workload(**columns: object) -> bl.Workload:
    """Make three jobs that each take the whole machine of `system`; the first one runs at once."""
    return bl.Workload.from_table(
        {"submit_time": [0, 1, 2], "run_time": [10] * 3, "tasks": [2] * 3, **columns}
    )


def starts(jobs: bl.Workload, policy: str, system: bl.System | None = None) -> list[float]:
    """Simulate on two nodes."""
    machine = system or bl.System.homogeneous(nodes=2, resources={"core": 1})
    return bl.simulate(jobs, machine, policy).jobs["start_time"].to_list()


def test_the_initial_score_orders_jobs() -> None:
    """The highest first, in each of the forms; a job without one has 0."""
    for column in (
        [0, 1, 5],
        ["", "1", "score=5"],
        [None, '{"score": 1}', "5.0"],
        ["0", " score = 1", '{"score": 5}'],
    ):
        jobs = workload(sched_args=column)
        assert jobs.jobs["score"].to_list() == [0, 1, 5]
        assert starts(jobs, "sbp") == [0, 20, 10]
    assert workload(sched_args=[None] * 3).jobs.columns[-1] == "sched_args"


def test_the_queue_is_that_of_the_name() -> None:
    """As a column `queue` does."""
    system = bl.System(
        (bl.NodeGroup("node", 2, {"core": 1}),),
        queues=(bl.JobQueue("low", priority=1), bl.JobQueue("high", priority=2)),
    )
    jobs = workload(queue_name=["low", "low", "high"])
    assert jobs.jobs["queue"].to_list() == ["low", "low", "high"]
    assert (
        starts(jobs, "mpp", system)
        == starts(workload(queue=["low", "low", "high"]), "mpp", system)
        == [0, 20, 10]
    )
    with pytest.raises(WorkloadError, match="hihg"):
        starts(workload(queue_name=["low", "hihg", None]), "mpp", system)


def test_both_columns_must_agree(tmp_path: Path) -> None:
    """So that what was written is read again; gaps of one are filled by the other."""
    jobs = workload(
        queue_name=["a", None, "c"], queue=[None, "b", "c"], sched_args=["1", None, ""], score=[1, 2, None]
    )
    assert jobs.jobs["queue"].to_list() == ["a", "b", "c"]
    assert jobs.jobs["score"].to_list() == [1, 2, 0]
    bl.write_table(jobs, tmp_path / "jobs.parquet")
    assert bl.read_table(tmp_path / "jobs.parquet").jobs.equals(jobs.jobs)
    for columns, said in (
        ({"queue_name": ["a"] * 3, "queue": ["a", "a", "b"]}, "row 2: queue_name = 'a', and queue = 'b'"),
        ({"sched_args": ["1"] * 3, "score": [1, 2, 1]}, r"row 1: sched_args = 1\.0, and score = 2\.0"),
    ):
        with pytest.raises(WorkloadError, match=said):
            workload(**columns)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scor=5", "no argument is called 'scor'. Did you mean 'score'"),
        ("high", "must be a number"),
        ("score=[1]", "must be a finite number"),
        ("NaN", "must be a finite number"),
        ("true", "must be a finite number"),
        ("{5}", "must be a JSON object"),
    ],
)
def test_other_arguments_are_refused(text: str, said: str) -> None:
    """With the table, the text and the rule."""
    with pytest.raises(WorkloadError) as error:
        workload(sched_args=["1", text, None])
    assert "table: sched_args = " in str(error.value)
    assert said in str(error.value)
