"""The tables of a result, put together from flat columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from batchlab.core.vocabulary import JOB_STATES, REJECTION_REASONS, WAITING_REASONS
from batchlab.errors import ResultError
from support.results import Job, make_result

if TYPE_CHECKING:
    from batchlab.result.result import Result


def test_jobs_have_the_documented_columns(three: Result) -> None:
    """Names, order and types of the columns, with one row per job in the workload's order."""
    assert dict(three.jobs.schema) == {
        "job_id": pl.Int64,
        "state": pl.Enum(JOB_STATES),
        "submit_time": pl.Float64,
        "start_time": pl.Float64,
        "end_time": pl.Float64,
        "run_time": pl.Float64,
        "requested_time": pl.Float64,
        "tasks": pl.Int64,
        "nodes": pl.List(pl.UInt32),
        "reason": pl.Enum(list(dict.fromkeys((*REJECTION_REASONS, *WAITING_REASONS)))),
        "allocated_core": pl.Int64,
    }
    assert three.jobs["job_id"].to_list() == [1, 2, 3, 4]
    assert three.jobs["state"].to_list() == ["completed", "completed", "completed", "rejected"]
    assert three.jobs["reason"].to_list() == [None, None, None, "never_fits"]


def test_times_that_never_came_are_null(three: Result) -> None:
    """A rejected job has no start and no end."""
    assert three.jobs["start_time"].to_list() == [0, 100, 150, None]
    assert three.jobs["end_time"].to_list() == [100, 150, 160, None]


def test_nodes_are_lists(three: Result) -> None:
    """Each job has the nodes it ran on, a rejected one none."""
    assert three.jobs["nodes"].to_list() == [[0, 1], [0, 1, 2, 3], [0], []]
    assert three.jobs["allocated_core"].to_list() == [4, 8, 2, 0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_rows_are_no_special_case(count: int) -> None:
    """Tables of no job, and of one, have the same columns and types."""
    result = make_result([Job(5, state="rejected")] * count)
    assert result.jobs["nodes"].to_list() == [[]] * count
    assert result.jobs.schema == make_result([Job(0, 0, 1, nodes=((0, 1),))]).jobs.schema
    assert len(result.placements) == 0
    assert len(result.timeline) == 0


def test_node_lists_equal_slices_of_the_flat_columns() -> None:
    """Random placements, empty ones among them, come out as plain slicing gives them."""
    random = np.random.default_rng(1)
    placements = [
        [(int(node), 1) for node in random.permutation(9)[: random.integers(0, 9)]] for _ in range(500)
    ]
    jobs = [Job(0, 0, 1, nodes=tuple(placement)) for placement in placements]
    assert make_result(jobs, nodes=9).jobs["nodes"].to_list() == [
        [node for node, _ in one] for one in placements
    ]


def test_the_workloads_columns_ride_along() -> None:
    """Columns that the result has too are told from its own by a prefix."""
    result = make_result(
        [Job(0, 7, 9, nodes=((0, 1),))], user_id=[42], start_time=[1.5], logged_start_time=["x"]
    )
    assert result.jobs.columns[-3:] == ["user_id", "logged_start_time", "logged_logged_start_time"]
    assert result.jobs.row(0)[-3:] == (42, 1.5, "x")
    assert result.jobs["start_time"].to_list() == [7]


def test_placements_are_one_row_per_job_and_node(three: Result) -> None:
    """They say how many tasks each node got."""
    assert three.placements.rows() == [
        (1, 0, 0, 2),
        (1, 0, 1, 2),
        (2, 1, 0, 2),
        (2, 1, 1, 2),
        (2, 1, 2, 2),
        (2, 1, 3, 2),
        (3, 2, 0, 2),
    ]
    assert three.placements.columns == ["job_id", "row", "node", "tasks"]


def test_tables_are_made_once(three: Result) -> None:
    """Asking again gives the same object."""
    assert three.jobs is three.jobs
    assert three.timeline is three.timeline


def test_metrics_belong_to_the_caller(three: Result) -> None:
    """Changing what was given does not change what is given next."""
    three.metrics()["jobs"] = None
    assert three.metrics()["jobs"] is not None


def test_dispatch_must_have_been_asked_for(three: Result) -> None:
    """The error says how."""
    with pytest.raises(ResultError, match=r"pass dispatch=True to simulate\(\)"):
        _ = three.dispatch


def test_a_result_introduces_itself(three: Result) -> None:
    """Its repr is one short line."""
    assert repr(three) == "<Result of fcfs: 4 jobs on 4 nodes>"
