"""Columns that say what a job waits for: dependencies, begin times, arrays."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import batchlab as bl

TASKS = ["job_id", "array_id", "array_index", "array_limit"]


def workload(**columns: object) -> bl.Workload:
    """Give a workload of three jobs, numbered 10, 20 and 30."""
    table = {
        "job_id": [10, 20, 30],
        "submit_time": [0, 1, 2],
        "run_time": [5.0, 5.0, 5.0],
        "tasks": [1, 1, 1],
        "user": ["a", "a", "a"],
        "job_name": ["x", "x", "x"],
    }
    return bl.Workload.from_table(pl.DataFrame({**table, **columns}, strict=False))


def test_texts_stay_as_they_are() -> None:
    """Any text in Slurm's syntax is taken; an empty one is none."""
    texts = ["", "after:10+30?afternotok:10_0", " singleton,afterok:10:20 "]
    kept = [None, "after:10+30?afternotok:10_0", "singleton,afterok:10:20"]
    made = workload(dependency=texts, array=["0-1", None, None])
    assert made.jobs.filter(pl.col("job_id") <= 30)["dependency"].to_list() == kept


@pytest.mark.parametrize(
    ("dependency", "message"),
    [
        ([None, "afterok", None], "row 1: dependency = 'afterok'; must be like 'afterok:12:13"),
        ([None, "afterok:", None], "row 1: .* must be like"),
        ([None, None, "afterok:10,afterany:20?after:10"], "row 2: .* must be like"),
        (["afterwards:10", None, None], "row 0: dependency = 'afterwards:10'; must be like"),
        ([None, "afterok:10+5", None], "row 1: dependency = 'afterok:10.5'; must be like"),
        ([None, "singleton:10", None], "row 1: .* must be like"),
        ([None, "after:10+", None], "row 1: .* must be like"),
        ([None, "after:1" + "0" * 30, None], "row 1: .* must be like"),
        ([None, "afterok:10,", None], "row 1: .* must be like"),
        ([None, "after:11", None], "row 1: dependency = 'after:11'; 11 must be .* but there is no such job"),
        ([None, "afterok:10_3", None], "job 20: dependency = 'afterok:10_3'; job 10 has no task of index 3"),
        (["after:10", None, None], "dependency goes round in a circle; jobs 10 would wait for ever"),
        (["after:20", "afterany:30?afterok:30", "after:10"], "circle; jobs 10, 20, 30 would wait"),
        (["after:30", None, "singleton"], "circle; jobs 10, 30 would wait"),
        ([1, 2, 3], "column 'dependency' is of the kind Int64; must be text"),
    ],
)
def test_wrong_dependencies(dependency: object, message: str) -> None:
    """One error names the row and the value."""
    with pytest.raises(bl.WorkloadError, match=message):
        workload(dependency=dependency)


def test_repeated_numbers_name_no_job() -> None:
    """Where two jobs have a number, none can be named by it."""
    with pytest.raises(bl.WorkloadError, match=r"row 2: dependency = 'after:10'; .* but 2 jobs have this"):
        workload(job_id=[10, 10, 30], dependency=[None, None, "after:10"])
    with pytest.raises(bl.WorkloadError, match=r"job 10: array = '0-1'; must be the only job of its number"):
        workload(job_id=[10, 10, 30], array=["0-1", None, None])


def test_singletons_need_a_user_and_a_name() -> None:
    """An error says which column is missing."""
    table = {"submit_time": [0], "run_time": [1], "tasks": [1], "dependency": ["singleton"]}
    with pytest.raises(bl.WorkloadError, match=r"'singleton' needs a column 'user'"):
        bl.Workload.from_table(table)
    with pytest.raises(bl.WorkloadError, match=r"'singleton' needs a column 'job_name'"):
        bl.Workload.from_table({**table, "user_id": [7]})


@pytest.mark.parametrize(
    ("begin_time", "message"),
    [
        ([None, -1, None], "row 1: begin_time = -1; must be a number of seconds from 0"),
        ([None, None, float("nan")], "row 2: begin_time = nan; must be"),
        (["", "5", "soon"], "row 2: begin_time = 'soon'; must be"),
        ([None, None, 1e300], "row 2: begin_time = 1e.300; must be"),
        ([[1], [2], [3]], r"column 'begin_time' is of the kind List\(Int64\); must be seconds"),
    ],
)
def test_wrong_begin_times(begin_time: object, message: str) -> None:
    """A begin time is a time, or missing."""
    with pytest.raises(bl.WorkloadError, match=message):
        workload(begin_time=begin_time)


def test_begin_times_move_with_submissions() -> None:
    """Shifts and other loads move both; none goes below the origin."""
    made = workload(begin_time=[None, 5, "0"], submit_time=[2, 3, 4])
    assert made.jobs["begin_time"].to_list() == [None, 5.0, 0.0]
    assert made.shift(10.0).jobs["begin_time"].to_list() == [None, 15.0, 10.0]
    assert made.scale_load(0.5).jobs["begin_time"].to_list() == [None, 8.0, 0.0]


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("0-3", [0, 1, 2, 3], None),
        ("7", [7], None),
        (" 5, 1 ,3 ", [1, 3, 5], None),
        ("0-15:4", [0, 4, 8, 12], None),
        ("1-3,2-5:2,9%2", [1, 2, 3, 4, 9], 2),
    ],
)
def test_arrays_become_tasks(text: str, indices: list[int], limit: int | None) -> None:
    """A row for each index stands in the place of the row; the first keeps its number."""
    jobs = workload(array=[None, text, "4-5"]).jobs
    count = len(indices)
    numbers = [20, *range(31, 30 + count)]
    expected: list[tuple[int | None, ...]] = [(10, None, None, None)]
    expected += [(number, 20, index, limit) for number, index in zip(numbers, indices, strict=True)]
    expected += [(30, 30, 4, None), (30 + count, 30, 5, None)]
    assert jobs.select(TASKS).rows() == expected
    assert "array" not in jobs.columns
    assert jobs["submit_time"].to_list() == [0, *[1] * count, 2, 2]


@pytest.mark.parametrize(
    "text", ["a", "3-1", "1-9:0", "0-3%0", "0-3%", "%2", "1,,2", "-1", "0-4000001", "1-2-3"]
)
def test_wrong_arrays(text: str) -> None:
    """One error names the row and the value."""
    with pytest.raises(bl.WorkloadError, match=r"row 1: array = .*; must be like '0-9'"):
        workload(array=[None, text, None])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"array_id": [1, 1, None]}, "no column 'array_index'; a task of an array needs it"),
        ({"array_id": [1, 1, None], "array_index": [1, 1, None]}, "row 0: array_index = 1; .* once"),
        ({"array_id": [1, 1, None], "array_index": [1, None, 2]}, "row 1: array_index = None; must be >= 0"),
        (
            {"array_id": [1, 1, None], "array_index": [1, 2, 2], "array_limit": [1, 2, None]},
            "row 0: array_limit = 1; must be >= 1, and the same for all",
        ),
        (
            {"array_id": [1, 1, None], "array_index": [1, 2, 2], "array_limit": [0, 0, None]},
            "row 0: array_limit = 0; must be >= 1",
        ),
        ({"array_id": ["a", "b", "c"], "array_index": [1, 1, 1]}, "column 'array_id' is of the kind String"),
        (
            {"array_id": [1, 1, 1], "array": ["0", "1", "2"]},
            "columns 'array' and 'array_id'",
        ),
        ({"array": [0.5, 1.5, 2.5]}, "column 'array' is of the kind Float64; must be text"),
    ],
)
def test_wrong_tasks(columns: dict[str, object], message: str) -> None:
    """Tables whose arrays are tasks already are checked too."""
    with pytest.raises(bl.WorkloadError, match=message):
        workload(**columns)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_keep_all_of_it(tmp_path: Path, suffix: str) -> None:
    """What is written is read again as it was, and dependencies still name arrays and tasks."""
    made = workload(
        array=["0-2%1", None, None], dependency=[None, "afterok:10", "after:10_2+1"], begin_time=[None, 3, 4]
    )
    bl.write_table(made, tmp_path / f"jobs{suffix}")
    again = bl.read_table(tmp_path / f"jobs{suffix}")
    assert again.jobs.equals(made.jobs.select(again.jobs.columns))
    assert set(again.jobs.columns) == set(made.jobs.columns)


def test_jobs_that_are_left_out_are_forgotten() -> None:
    """A text keeps what is there: an array as long as one task is."""
    made = workload(
        array=["0-2", None, None], dependency=[None, "after:10_1,afterok:10", "afterok:10_0:20?after:20+2"]
    )
    kept = made.filter(pl.col("array_index").is_null() | (pl.col("array_index") == 2)).jobs
    assert kept["dependency"].to_list() == [None, "afterok:10", "afterok:20?after:20+2"]
    alone = made.filter(pl.col("job_id") == 30).jobs
    assert alone["dependency"].to_list() == [None]
    dropped = workload(run_time=[5.0, -1.0, 5.0], dependency=[None, None, "afterok:10:20"])
    assert dropped.jobs["dependency"].to_list() == [None, "afterok:10"]


def test_fields_of_a_log_make_no_job_wait() -> None:
    """Preceding job and think time of SWF are columns: dependencies are asked for by name."""
    line = "{} 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 {} 100"
    log = bl.read_swf([line.format(1, -1), line.format(2, 1)])
    assert log.jobs.select("preceding_job_id", "think_time").rows() == [(-1, 100), (1, 100)]
    machine = bl.System.homogeneous(nodes=2, resources={"core": 1})
    assert bl.simulate(log, machine, "fcfs").jobs["start_time"].to_list() == [0, 0]


def test_descriptions() -> None:
    """Descriptions name all that jobs wait for and belong to; what none names is no column."""
    jobs = bl.Workload.from_jobs(
        [
            bl.JobDescription(run_time=1, tasks=1, array="0-1%1", user="ann", partition=["left", "right"]),
            bl.JobDescription(run_time=1, tasks=1, dependency="afterok:1", begin_time=0, queue="short"),
        ]
    ).jobs
    assert jobs["array_index"].to_list() == [0, 1, None]
    assert jobs["user"].to_list() == ["ann", "ann", None]
    assert jobs["partition"].to_list() == ["left|right", "left|right", None]
    assert jobs["dependency"].to_list() == [None, None, "afterok:1"]
    assert jobs["begin_time"].to_list() == [None, None, 0]
    assert jobs["queue"].to_list() == [None, None, "short"]
    assert not {"group", "account", "qos", "job_name", "node_group"} & {*jobs.columns}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition": 7}, r"jobs\[0\]: partition = 7; must be the names of partitions"),
        ({"dependency": 3}, "a field is of a wrong kind"),
        ({"others": {"queue": "short"}}, "must not name fields of the job"),
    ],
)
def test_wrong_descriptions(given: dict[str, Any], message: str) -> None:
    """What is no text is refused, and so is a field among the other columns."""
    with pytest.raises(bl.WorkloadError, match=message):
        bl.Workload.from_jobs([bl.JobDescription(run_time=1, tasks=1, **given)])
