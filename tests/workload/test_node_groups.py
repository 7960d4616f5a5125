"""Jobs that may use the nodes of some groups only: the column."""

from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.result.output import identify

TABLE = {"submit_time": [0, 1, 2], "run_time": [5.0, 5.0, 5.0], "tasks": [1, 1, 1]}


def workload(node_group: object) -> bl.Workload:
    """Give a workload of three jobs."""
    return bl.Workload.from_table(pl.DataFrame({**TABLE, "node_group": node_group}, strict=False))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["cpu", "cpu|fat", None], ["cpu", "cpu|fat", None]),
        ([" cpu ", "cpu | fat|cpu", ""], ["cpu", "cpu|fat", None]),
        ([["cpu"], ["cpu", "fat", "cpu"], []], ["cpu", "cpu|fat", None]),
        ([["cpu"], ["cpu", None, "fat"], None], ["cpu", "cpu|fat", None]),
        (["|", "", " "], [None, None, None]),
        ([None, None, None], [None, None, None]),
        (pl.Series(["cpu", None, "fat"], dtype=pl.Categorical), ["cpu", None, "fat"]),
        # What a CSV file holds whose groups are named by numbers.
        ([1, 2, None], ["1", "2", None]),
    ],
)
def test_forms(given: object, expected: list[str | None]) -> None:
    """Text and lists are the same; repetition and blanks are left out, and no name is any node."""
    jobs = workload(given).jobs
    assert jobs.schema["node_group"] == pl.String
    assert jobs["node_group"].to_list() == expected


@pytest.mark.parametrize("given", [[0.5, 1.0, 2.0], [True, False, None], [[1.5], [], []]])
def test_other_kinds(given: object) -> None:
    """Names are text."""
    with pytest.raises(
        bl.WorkloadError, match=r"column 'node_group' is of the kind .*; must hold names of node"
    ):
        workload(given)


def test_columns_that_are_added_later() -> None:
    """The jobs of a log get groups by an expression."""
    made = bl.Workload.from_table(TABLE)
    groups = pl.when(pl.col("submit_time") > 0).then(pl.lit("fat | cpu"))
    bound = bl.Workload(made.jobs.with_columns(node_group=groups))
    assert bound.jobs["node_group"].to_list() == [None, "fat|cpu", "fat|cpu"]
    with pytest.raises(bl.WorkloadError, match="jobs: column 'node_group' is of the kind Float64"):
        bl.Workload(made.jobs.with_columns(node_group=pl.col("submit_time")))


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_files(name: str, tmp_path: Path) -> None:
    """They are written and read."""
    made = workload([["cpu"], ["cpu", "fat"], []])
    bl.write_table(made, tmp_path / name)
    assert bl.read_table(tmp_path / name).jobs.equals(made.jobs)


def test_descriptions() -> None:
    """One name, several, or none."""
    groups: list[str | list[str] | None] = ["cpu", ["cpu", "fat"], [], None]
    jobs = [bl.JobDescription(run_time=1, tasks=1, node_group=group) for group in groups]
    assert bl.Workload.from_jobs(jobs).jobs["node_group"].to_list() == ["cpu", "cpu|fat", None, None]
    assert "node_group" not in bl.Workload.from_jobs(jobs[2:]).jobs.columns
    with pytest.raises(
        bl.WorkloadError, match=r"jobs\[0\]: node_group = 7; must be the names of node groups"
    ):
        bl.Workload.from_jobs([bl.JobDescription(run_time=1, tasks=1, node_group=7)])  # type: ignore[arg-type]


def test_no_resource() -> None:
    """The column is no resource."""
    with pytest.raises(bl.WorkloadError, match="resource 'node_group' is no column of amounts"):
        bl.Workload.from_table({**TABLE, "node_group": [1, 2, 3]}, resources=["node_group"])


def test_other_groups_are_other_jobs() -> None:
    """What bears on the schedule identifies a workload."""
    bound = [identify(workload(groups))["sha256"] for groups in (["cpu", "", ""], ["fat", "", ""])]
    assert len({*bound, identify(bl.Workload.from_table(TABLE))["sha256"]}) == 3
