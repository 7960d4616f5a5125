"""Jobs that wait for others."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl


def workload(depends_on: object, **options: object) -> bl.Workload:
    """Give a workload of three jobs, numbered 10, 20 and 30."""
    columns = {
        "job_id": [10, 20, 30],
        "submit_time": [0, 1, 2],
        "run_time": [5.0, 5.0, 5.0],
        "tasks": [1, 1, 1],
        "depends_on": depends_on,
        **options,
    }
    return bl.Workload.from_table(pl.DataFrame(columns, strict=False))


@pytest.mark.parametrize(
    "depends_on",
    [
        [[], [10], [20, 10, 20]],
        [None, [10], [20, None, 10]],
        ["", "10", "20 10"],
        [None, " [10] ", "[20, 10]"],
    ],
)
def test_forms(depends_on: object) -> None:
    """Lists may come as text too; nothing is an empty list, and repetition is left out."""
    jobs = workload(depends_on).jobs
    assert jobs.schema["depends_on"] == pl.List(pl.Int64)
    assert jobs["depends_on"].to_list() == [[], [10], [20, 10]]


@pytest.mark.parametrize("depends_on", [[None, 10, None], ["", "10", None]])
def test_one_each(depends_on: object) -> None:
    """A file whose jobs wait for one other at most has a column of numbers."""
    assert workload(depends_on).jobs["depends_on"].to_list() == [[], [10], []]


@pytest.mark.parametrize(
    ("depends_on", "message"),
    [
        ([[], [11], []], "job 20: depends_on = 11; must be the job_id of one job, but there is no such job"),
        ([[10], [], []], "goes round in a circle; jobs 10 would wait for ever"),
        ([[20], [30], [10]], "goes round in a circle; jobs 10, 20, 30 would wait"),
        (["a", "", ""], "row 0: depends_on = 'a'; must be numbers of jobs"),
        (["", "", f"10 {2**63}"], "row 2: .*; a job's number lies between -2.63 and 2.63 - 1"),
        ([[], [2**70], []], "row 1: depends_on = .1180591620717411303424.; a job's number lies between"),
        ([None, -(2**70), None], "row 1: depends_on = .-1180591620717411303424.; a job's number lies"),
        (["", " " * 50_000 + "x", ""], "row 1: .* must be numbers of jobs"),
        ([[0.5], [], []], r"column 'depends_on' is of the kind List\(Float64\); must hold lists of job_id"),
    ],
)
def test_errors(depends_on: object, message: str) -> None:
    """No job can wait for one that never was, or for itself."""
    with pytest.raises(bl.WorkloadError, match=message):
        workload(depends_on)


def test_repeated_numbers_name_nobody() -> None:
    """Where several jobs have a number, none can be waited for by it; none need be."""
    columns = {"job_id": [1, 1, 2], "submit_time": [0] * 3, "run_time": [1] * 3, "tasks": [1] * 3}
    with pytest.raises(bl.WorkloadError, match=r"depends_on = 1; .* but 2 jobs have this number"):
        bl.Workload.from_table({**columns, "depends_on": [[], [], [1]]})
    assert len(bl.Workload.from_table({**columns, "depends_on": [[2], [2], []]})) == 3


def test_dropped_jobs_are_waited_for_by_nobody() -> None:
    """A job that is left out no longer holds others up."""
    made = workload([[], [10], [20]], run_time=[-1.0, 5.0, 5.0])
    assert made.jobs["depends_on"].to_list() == [[], [20]]


@given(st.lists(st.sets(st.integers(0, 7)), min_size=8, max_size=8))
def test_circles_are_found(wanted: list[set[int]]) -> None:
    """A workload is refused just when no order has every job behind those that it waits for."""
    ready: set[int] = set()
    for _ in wanted:
        ready |= {job for job, others in enumerate(wanted) if others <= ready}
    columns = {"job_id": range(8), "submit_time": [0] * 8, "run_time": [1] * 8, "tasks": [1] * 8}
    table = pl.DataFrame({**columns, "depends_on": [sorted(others) for others in wanted]}, strict=False)
    if len(ready) == len(wanted):
        assert len(bl.Workload.from_table(table)) == 8
    else:
        with pytest.raises(bl.WorkloadError, match="goes round in a circle"):
            bl.Workload.from_table(table)
