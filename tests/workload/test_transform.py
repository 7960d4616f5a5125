"""Transforms give new workloads and leave the old one as it was."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from batchlab.errors import WorkloadError
from batchlab.workload import Workload


@pytest.fixture
def workload() -> Workload:
    """Five jobs, half of them of user 1."""
    return Workload.from_table(
        {
            "job_id": [11, 12, 13, 14, 15],
            "submit_time": [100, 110, 130, 130, 200],
            "run_time": [1, 2, 3, 4, 5],
            "tasks": [1, 4, 5, 8, 9],
            "mem": [10, 10, 10, 10, 10],
            "user_id": [1, 2, 1, 2, 1],
        }
    )


def ids(workload: Workload) -> list[int]:
    return workload.jobs["job_id"].to_list()


def test_filter(workload: Workload) -> None:
    """Jobs for which all expressions hold are kept, with header, report and resources."""
    kept = workload.filter(pl.col("user_id") == 1, pl.col("run_time") > 1)
    assert ids(kept) == [13, 15]
    assert kept.report is workload.report
    assert kept.resources == ("mem",)
    with pytest.raises(WorkloadError, match=r"filter: .*user.*The columns are job_id, submit_time"):
        workload.filter(pl.col("user") == 1)
    with pytest.raises(WorkloadError, match="filter: "):
        workload.filter(pl.col("user_id"))


def test_slices(workload: Workload) -> None:
    """By time the end is excluded; by rows as Python slices."""
    assert ids(workload.slice_time(110, 200)) == [12, 13, 14]
    assert ids(workload.slice_time(end=110)) == [11]
    assert ids(workload.slice_rows(1, 3)) == [12, 13]
    assert ids(workload.slice_rows(-2)) == [14, 15]
    assert ids(workload.head(2)) == [11, 12]
    with pytest.raises(WorkloadError, match="count = -1; must be >= 0"):
        workload.head(-1)


def test_scale_load(workload: Workload) -> None:
    """Times between submissions are divided; the first stays."""
    scaled = workload.scale_load(2)
    assert scaled.jobs["submit_time"].to_list() == [100, 105, 115, 115, 150]
    assert scaled.jobs["run_time"].equals(workload.jobs["run_time"])
    assert len(workload.head(0).scale_load(2)) == 0


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_scale_load_by_no_number(workload: Workload, factor: float) -> None:
    """The factor must be positive and finite."""
    with pytest.raises(WorkloadError, match=r"factor = .*; must be a positive number"):
        workload.scale_load(factor)


def test_shift(workload: Workload) -> None:
    """All jobs move together, but not before the origin nor out of exact numbers."""
    assert workload.shift(-100).jobs["submit_time"].to_list() == [0, 10, 30, 30, 100]
    for seconds in (-101, 2**54, float("nan")):
        with pytest.raises(
            WorkloadError, match=r"seconds = .*; would submit a job at .* must be from 0 to 2\^53"
        ):
            workload.shift(seconds)
    with pytest.raises(WorkloadError, match="factor = 1e-300; would submit"):
        workload.scale_load(1e-300)


def test_shuffle(workload: Workload) -> None:
    """Jobs move whole over the same submit times; a seed gives one permutation."""
    shuffled = workload.shuffle(3)
    assert shuffled.jobs["submit_time"].equals(workload.jobs["submit_time"])
    assert ids(shuffled) != ids(workload)
    rest = pl.exclude("submit_time")
    assert shuffled.jobs.select(rest).sort("job_id").equals(workload.jobs.select(rest))
    assert ids(workload.shuffle(3)) == ids(shuffled)
    assert ids(workload.shuffle(np.int64(3))) == ids(shuffled)  # type: ignore[arg-type]
    assert ids(workload.shuffle(4)) != ids(shuffled)
    for seed in (-1, 1.5, None):
        with pytest.raises(WorkloadError, match=r"seed = .*; must be a whole number >= 0"):
            workload.shuffle(seed)  # type: ignore[arg-type]


def test_whole_nodes(workload: Workload) -> None:
    """Processors become nodes, rounded up; a node asks for the memory of its processors."""
    whole = workload.whole_nodes(4)
    assert whole.jobs["tasks"].to_list() == [1, 1, 2, 2, 3]
    assert whole.jobs["mem"].to_list() == [10, 40, 40, 40, 40]
    assert whole.jobs["tasks_per_node"].to_list() == [1] * 5
    assert whole.jobs["exclusive"].to_list() == [True] * 5
    with pytest.raises(WorkloadError, match="processors_per_node = 0; must be >= 1"):
        workload.whole_nodes(0)
    with pytest.raises(WorkloadError, match="some jobs are exclusive already"):
        whole.whole_nodes(4)


@pytest.mark.parametrize(
    "transform",
    [
        lambda workload: workload.filter(pl.col("tasks") > 4),
        lambda workload: workload.slice_time(0, 120),
        lambda workload: workload.head(1),
        lambda workload: workload.scale_load(2),
        lambda workload: workload.shift(5),
        lambda workload: workload.shuffle(0),
        lambda workload: workload.whole_nodes(2),
    ],
)
def test_the_old_workload_stays(workload: Workload, transform: Callable[[Workload], Any]) -> None:
    """No transform changes its argument, and each gives a workload that passes the gate as it is."""
    before = workload.jobs.clone()
    after = transform(workload)
    assert workload.jobs.equals(before)
    again = Workload.from_table(after.jobs, invalid="raise")
    assert again.jobs.select(after.jobs.columns).equals(after.jobs)
