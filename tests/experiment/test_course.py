"""How far an experiment is: runs that are over, and those under way."""

from pathlib import Path

import batchlab as bl
from batchlab.experiment.course import Course, CourseKeeper, Underway
from batchlab.generate import demo_system, demo_workload


def test_runs_under_way_are_seen(tmp_path: Path) -> None:
    """Jobs that are over and simulated times only grow; in the end all runs are over and all jobs counted."""
    experiment = bl.Experiment(demo_workload(3000), demo_system(), ["fcfs", "conservative"])
    seen: list[Course] = []
    experiment.run("threads", tmp_path / "store", watch=seen.append)
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
