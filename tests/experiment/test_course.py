"""How far an experiment is: runs that are over, and those under way."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab.core.vocabulary import ExecutorName
from batchlab.experiment.plan import Course, CourseKeeper, Underway
from batchlab.generate import demo_system, demo_workload


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_runs_under_way_are_seen(executor: ExecutorName, tmp_path: Path) -> None:
    """Jobs that are over and simulated times only grow; in the end all runs are over and all jobs counted."""
    experiment = bl.Experiment(demo_workload(3000), demo_system(), ["fcfs", "conservative"])
    seen: list[Course] = []
    experiment.run(executor, tmp_path / "store", watch=seen.append)
    assert [seen[0].done, seen[0].underway] == [0, ()]
    assert [seen[-1].done, seen[-1].runs, seen[-1].underway] == [2, 2, ()]
    assert seen[-1].jobs_done == 6000
    parts, jobs = [course.part for course in seen], [course.jobs_done for course in seen]
    assert jobs == sorted(jobs)
    assert parts == sorted(parts)
    assert any(each.time > 0 for course in seen for each in course.underway)


def test_alike_runs_count_each() -> None:
    """A run that is there twice is done once, and is two of the runs."""
    seen: list[Course] = []
    counts: list[tuple[int, int]] = []
    keeper = CourseKeeper(3, {"a": 2}, lambda done, runs: counts.append((done, runs)), seen.append)
    assert keeper.watch is not None
    keeper.watch("a", Underway(5, 10, 60.0, None))
    keeper.over("a")
    assert counts == [(1, 3), (3, 3)]
    assert [(course.done, course.part, course.jobs_done) for course in seen] == [
        (1, 1, 0),
        (1, 1.5, 5),
        (3, 3, 10),
    ]
    assert CourseKeeper(1, {"a": 1}, None, None).watch is None


def test_news_of_a_run_that_is_over() -> None:
    """What another process tells of a run may come after its end: its jobs count, and it is not under way."""
    seen: list[Course] = []
    keeper = CourseKeeper(2, {"a": 1, "b": 1}, None, seen.append)
    assert keeper.watch is not None
    keeper.over("a")
    keeper.watch("a", Underway(10, 10, 60.0, None))
    keeper.watch("a", Underway(10, 10, 60.0, None))
    assert [(course.done, course.jobs_done, course.underway) for course in seen[1:]] == [
        (1, 0, ()),
        (1, 10, ()),
        (1, 10, ()),
    ]


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_an_error_of_the_watcher_ends_no_run(executor: ExecutorName, tmp_path: Path) -> None:
    """Runs go on to their ends, whichever thread called it; then the error is raised."""
    experiment = bl.Experiment(demo_workload(3000), demo_system(), ["fcfs", "conservative"])
    calls = []

    def watch(course: Course) -> None:
        calls.append(course)
        if course.underway:
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        experiment.run(executor, tmp_path / "store", watch=watch)
    assert set(experiment.load(tmp_path / "store").table["status"]) == {"done"}
    assert [bool(course.underway) for course in calls] == [False] * (len(calls) - 1) + [True]


def test_an_error_when_a_run_is_over() -> None:
    """It is raised at the end, as another is."""
    keeper = CourseKeeper(2, {"a": 1, "b": 1}, None, lambda course: 1 / (1 - course.done))
    keeper.over("a")
    keeper.over("b")
    with pytest.raises(ZeroDivisionError):
        keeper.close()
