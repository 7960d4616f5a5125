"""Target jobs among those of a log, and applications in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import Target, mix
from support.skeletons import star

if TYPE_CHECKING:
    from pathlib import Path

TARGET = Target("stencil_2d(size=512)", tasks=4, count=10, requested_time=60)


def log(jobs: int = 100) -> bl.Workload:
    """Make a log whose jobs come every 10 s, in a column `user_id` of their own."""
    place = np.arange(jobs)
    columns = {"submit_time": place * 10.0, "run_time": place + 1.0, "tasks": place % 8 + 1, "user_id": place}
    return bl.Workload.from_table(columns)


def test_targets_are_inserted_among_the_jobs_of_the_log() -> None:
    """As many as wanted, numbered after the log's, in order of time; the log's jobs are as they were."""
    mixed = mix(log(), [TARGET], seed=1).jobs
    targets, others = mixed.filter(mixed=pl.lit("target")), mixed.filter(pl.col("mixed").is_null())
    assert mixed["submit_time"].is_sorted()
    assert targets["job_id"].to_list() == list(range(101, 111))
    assert targets["submit_time"].is_between(0, 990).all()
    assert targets.select("tasks", "requested_time", "app_name", "app_args").unique().rows() == [
        (4, 60.0, "stencil_2d", "size=512")
    ]
    assert targets["run_time"].null_count() == 10
    columns = log().jobs.columns
    assert others.select(columns).equals(log().jobs)


def test_points_follow_the_submissions_of_the_log() -> None:
    """Nine tenths of the jobs come in the last hundredth of the time, and so do as many targets."""
    times = [*np.linspace(0, 99_000, 100), *np.linspace(99_001, 100_000, 900)]
    dense = bl.Workload.from_table({"submit_time": times, "run_time": [1] * 1000, "tasks": [1] * 1000})
    mixed = mix(dense, [Target("ring", tasks=2, count=20_000)], seed=2).jobs
    late = mixed.filter(mixed=pl.lit("target"))["submit_time"].to_numpy() > 99_000
    assert late.mean() == pytest.approx(0.9, abs=0.01)
    within = np.sort(mixed.filter(mixed=pl.lit("target"))["submit_time"].to_numpy()) % 1
    assert np.histogram(within, 4, (0, 1))[0].min() > 4000


def test_background_goes_by_weights() -> None:
    """Each job of the log runs one, on its own tasks; a share of them keeps its run time."""
    weights = {"allreduce(size=8)": 3, "ring": 1.0}
    mixed = mix(log(20_000), background=weights, share=0.5, seed=3).jobs
    names = dict(mixed.group_by("app_name").len().rows())
    assert names["allreduce"] == pytest.approx(7500, rel=0.03)
    assert names["ring"] == pytest.approx(2500, rel=0.05)
    runs = mixed["mixed"] == "background"
    assert mixed.filter(runs)["run_time"].null_count() == names["allreduce"] + names["ring"]
    kept = mixed.filter(pl.col("mixed").is_null())
    assert kept["run_time"].to_list() == [user + 1.0 for user in kept["user_id"]]
    assert mixed["tasks"].equals(log(20_000).jobs["tasks"])
    assert mixed.filter(pl.col("app_name") == "ring")["app_args"].null_count() == names["ring"]


def test_arguments_take_values_of_the_log() -> None:
    """A job that computes as long as the log says takes that long, and what its messages take."""
    mixed = mix(log(20), background=["time_keeper(seconds={run_time})", "ring( size = {user_id} )"], seed=1)
    rows = mixed.jobs.select("app_name", "app_args", "job_id").rows()
    for name, text, job in rows:
        assert text == (f"seconds={float(job)}" if name == "time_keeper" else f"size = {job - 1}")
    assert {name for name, _, _ in rows} == {"time_keeper", "ring"}
    done = bl.simulate(mixed, bl.System.of(star(200)), "easy").jobs.filter(app_name=pl.lit("time_keeper"))
    ran = (done["end_time"] - done["start_time"]).to_list()
    assert ran == pytest.approx([float(job) for job in done["job_id"]])
    with pytest.raises(WorkloadError, match=r"asks for a column 'runtime'\. Did you mean 'run_time'"):
        mix(log(), background=["time_keeper(seconds={runtime})"])


def test_the_same_seed_gives_the_same_mix() -> None:
    """Uses of chance do not disturb each other: points stay where they are as other things change."""
    one = mix(log(), [TARGET], background=["ring"], seed=4)
    assert one.jobs.equals(mix(log(), [TARGET], background=["ring"], seed=4).jobs)
    assert not one.jobs.equals(mix(log(), [TARGET], background=["ring"], seed=5).jobs)
    more = mix(log(), [TARGET, Target("ring", tasks=2)], background=["ring", "bcast"], share=0.3, seed=4)
    points = [
        each.jobs.filter(pl.col("app_name") == "stencil_2d")["submit_time"].to_list() for each in (one, more)
    ]
    assert points[0] == points[1]


def test_mixes_run() -> None:
    """Run times follow from the applications: all 300 jobs and the targets complete."""
    mixed = mix(log(30), [TARGET], background=["allreduce(size=1e6)", "ring(size=1e6)"], seed=6)
    done = bl.simulate(mixed, bl.System.of(star(8)), "easy").jobs
    assert set(done["state"]) == {"completed"}
    alone = bl.skeleton.run(bl.skeleton.named("stencil_2d", 4, {"size": 512}), star(8)).time
    ran = done.filter(mixed=pl.lit("target")).select(pl.col("end_time") - pl.col("start_time")).to_series()
    assert (ran >= alone - 1e-9).all()
    assert ran.min() == pytest.approx(alone, rel=1e-6)


def test_resources_and_whole_nodes() -> None:
    """A rank asks for a core unless the target says more; all jobs may be on nodes of their own."""
    table = {"submit_time": [0, 1], "run_time": [5, 5], "tasks": [1, 2], "core": [2, 1], "gpu": [1, 0]}
    targets = ["ring, tasks=2", "ring, tasks=3, gpu=1, tasks_per_node=1, count=2, requested_time=9.5"]
    mixed = mix(bl.Workload.from_table(table), targets, exclusive=True, seed=0).jobs
    rows = mixed.filter(mixed=pl.lit("target")).sort("job_id")
    assert rows.select("tasks", "core", "gpu", "tasks_per_node", "requested_time").rows() == [
        (2, 1, 0, 0, float("inf")),
        (3, 1, 1, 1, 9.5),
        (3, 1, 1, 1, 9.5),
    ]
    assert mixed["exclusive"].all()
    assert "exclusive" not in mix(bl.Workload.from_table(table), targets).jobs.columns


def test_jobs_with_applications_may_be_mixed_again() -> None:
    """Those of the log that are chosen run another one; the others keep theirs."""
    once = mix(log(50), [TARGET], background=["ring"], seed=7)
    again = mix(once, background=["bcast"], share=0.5, seed=8).jobs
    assert set(again["app_name"]) == {"ring", "stencil_2d", "bcast"}
    kept = again.filter(pl.col("mixed").is_null())
    assert "bcast" not in set(kept["app_name"])
    assert kept["application"].null_count() == 0


def test_a_mix_is_read_again(tmp_path: Path) -> None:
    """CSV and Parquet have all of it."""
    mixed = mix(log(), [TARGET], background=["ring(size=1e6)"], share=0.5, seed=9)
    for name in ("mixed.csv", "mixed.parquet"):
        bl.write_table(mixed, tmp_path / name)
        again = bl.read_table(tmp_path / name)
        assert again.jobs.equals(mixed.jobs)
        assert set(again.applications) == set(mixed.applications)


def test_one_job_is_enough_of_a_log() -> None:
    """Its submission is the only point."""
    assert mix(log(1).shift(7), ["ring, tasks=2"]).jobs["submit_time"].to_list() == [7, 7]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"targets": "ring, tasks=2"}, "must be a list of Target"),
        ({"targets": ["ring"]}, "says no tasks"),
        ({"targets": ["rng, tasks=2"]}, "no skeleton is called 'rng'. Did you mean 'ring'"),
        ({"targets": ["ring(size), tasks=2"]}, "app_args"),
        ({"targets": ["ring(size=1), tasks=0"]}, "tasks = 0; must be a whole number"),
        ({"targets": ["ring(size=1), tasks=2, tasks=3"]}, "key 'tasks' is given twice; keep one."),
        ({"targets": ["ring(size=1) on 3"]}, "'on' is no ','."),
        ({"targets": ["ring, tasks=2, requested_time=-1"]}, "requested_time = -1"),
        ({"targets": ["ring(sizes=1), tasks=2"]}, "no argument is called 'sizes'"),
        ({"background": "ring"}, "must be a list of applications"),
        ({"background": {"ring": 0}}, "the weight of ring = 0; must be a finite number > 0"),
        ({"background": ["ring, tasks=2"]}, "',' follows the application"),
        (
            {"targets": ["ring, tasks=2, count=1000000000"]},
            "count = 1,000,000,000; a mix has at most 10^7",
        ),
        (
            {"targets": ["ring, tasks=2, count=6000000"] * 2},
            "count = 12,000,000; a mix has at most 10^7",
        ),
        ({"share": 1.5}, "share = 1.5"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_what_breaks_a_rule_is_refused(arguments: dict[str, object], said: str) -> None:
    """With the argument, its value and the rule."""
    with pytest.raises(WorkloadError) as error:
        mix(log(3), **({"background": ["ring"]} | arguments))  # type: ignore[arg-type]
    assert said in str(error.value)


def test_an_empty_log_is_refused() -> None:
    """There is no point in it."""
    with pytest.raises(WorkloadError, match="has no jobs"):
        mix(log().head(0), [TARGET])
