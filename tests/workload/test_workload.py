"""Every table passes one gate, which checks all jobs and says what it did."""

import copy
import dataclasses
import math
import pickle
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchlab.core.vocabulary import OverrunAction
from batchlab.errors import WorkloadError
from batchlab.workload import JobDescription, Workload, read_swf, reasons

TABLE: dict[str, list[Any]] = {"submit_time": [0, 10], "run_time": [60, 30.5], "tasks": [4, 2]}
FIRST = ["job_id", "submit_time", "run_time", "requested_time", "tasks"]


def admitted(**changes: list[Any]) -> Workload:
    return Workload.from_table(TABLE | changes)


def test_defaults_and_kinds() -> None:
    """Jobs are numbered from 1, requested times are run times; the first five columns have their kinds."""
    workload = admitted()
    assert workload.jobs.rows() == [(1, 0.0, 60.0, 60.0, 4), (2, 10.0, 30.5, 30.5, 2)]
    assert dict(workload.jobs.schema) == dict(
        zip(FIRST, [pl.Int64, pl.Float64, pl.Float64, pl.Float64, pl.Int64], strict=True)
    )
    assert workload.report.counts()["mended"] == {reasons.REQUESTED_TIME_UNKNOWN: 2}


def test_columns_are_ordered_and_others_ride_along() -> None:
    """The five come first, then resources and request columns, then the rest as it was."""
    workload = admitted(
        note=["a", "b"], exclusive=[1, None], mem=[5, 6], core=[1, 1], tasks_per_node=[None, 2]
    )
    assert workload.jobs.columns == [*FIRST, "core", "mem", "tasks_per_node", "note", "exclusive"]
    assert workload.resources == ("core", "mem")
    assert workload.jobs["exclusive"].to_list() == [True, False]
    assert workload.jobs["tasks_per_node"].to_list() == [0, 2]
    assert Workload.from_table(TABLE | {"licence": [1, 0]}, resources=["licence"]).resources == ("licence",)
    assert Workload.from_table(TABLE | {"row": [1, 0]}, resources=["row"]).resources == ("row",)
    assert Workload.from_table(TABLE | {"mem": [1, 0]}, resources=()).resources == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"job_id": [1, None]}, reasons.JOB_NUMBER),
        ({"job_id": [1, 2.5]}, reasons.JOB_NUMBER),
        ({"submit_time": [0, -1]}, reasons.SUBMIT_TIME),
        ({"submit_time": [0, None]}, reasons.SUBMIT_TIME),
        ({"submit_time": [0, float("nan")]}, reasons.SUBMIT_TIME),
        ({"submit_time": ["0", "noon"]}, reasons.SUBMIT_TIME),
        ({"run_time": [1, float("inf")]}, reasons.RUN_TIME),
        ({"run_time": [1, 1e300]}, reasons.RUN_TIME),
        ({"tasks": [1, 0]}, reasons.PROCESSORS),
        ({"tasks": [1, 2**32]}, reasons.PROCESSORS),
        ({"tasks": [1, float("nan")]}, reasons.PROCESSORS),
        ({"requested_time": [1, 2.0**54]}, reasons.REQUESTED_TIME),
        ({"time_limit": [1, -1]}, reasons.TIME_LIMIT),
        ({"time_limit": [1, 2.0**54]}, reasons.TIME_LIMIT),
        ({"time_limit": ["1", "none"]}, reasons.TIME_LIMIT),
        ({"mem": [1, -1]}, reasons.negative_amount("mem")),
        ({"mem": [1.0, float("nan")]}, reasons.negative_amount("mem")),
        ({"tasks_per_node": [0, -1]}, reasons.negative_amount("tasks_per_node")),
    ],
)
def test_broken_rules(changes: dict[str, Any], reason: str) -> None:
    """A job that breaks a rule is dropped and listed, or raised, naming row, value and rule."""
    workload = admitted(**changes)
    assert workload.report.dropped.select("reason", "line").rows() == [(reason, 1)]
    assert (workload.report.read, workload.report.kept, len(workload)) == (2, 1, 1)
    column = next(iter(changes))
    with pytest.raises(
        WorkloadError, match=rf'table: row 1: {column} = .*; must be .*\. Pass invalid="drop"'
    ):
        Workload.from_table(TABLE | changes, invalid="raise")


def test_mends() -> None:
    """What can be mended is, and is listed in the order of rows."""
    workload = Workload.from_table(
        {
            "job_id": [7, 7, 8, 9],
            "submit_time": [5, 4, -0.0, 9],
            "run_time": [10, 10, 10, 10],
            "requested_time": [5, None, float("nan"), -1],
            "tasks": [1, 1.5, 1, 1],
            "mem": [0, 0.5, None, 2],
        }
    )
    assert workload.jobs["requested_time"].to_list() == [10.0] * 4
    assert workload.jobs["tasks"].to_list() == [1, 2, 1, 1]
    assert workload.jobs["mem"].to_list() == [0, 1, 0, 2]
    assert str(workload.jobs["submit_time"][2]) == "0.0"
    assert workload.report.mended.rows() == [
        (reasons.REQUESTED_TIME_RAISED, 0, 7),
        (reasons.FRACTIONAL_PROCESSORS, 1, 7),
        (reasons.REQUESTED_TIME_UNKNOWN, 1, 7),
        (reasons.fractional_amount("mem"), 1, 7),
        (reasons.UNREADABLE, 2, 8),
        (reasons.REQUESTED_TIME_UNKNOWN, 2, 8),
        (reasons.unknown_amount("mem"), 2, 8),
        (reasons.REQUESTED_TIME_UNKNOWN, 3, 9),
    ]
    assert workload.report.noted.rows() == [
        (reasons.OUT_OF_ORDER, 1, 7),
        (reasons.REPEATED_JOB, 1, 7),
        (reasons.OUT_OF_ORDER, 2, 8),
    ]


def test_a_limit_is_not_what_is_planned_with() -> None:
    """Overruns are a matter of the requested time; without one of its own a job is planned with its limit."""
    table = TABLE | {"requested_time": [20, None], "time_limit": [30, 25]}
    jobs = Workload.from_table(table).jobs
    assert jobs.columns == [*FIRST, "time_limit"]
    assert jobs.select("requested_time", "time_limit").rows() == [(60.0, 30.0), (30.5, 25.0)]
    kept = Workload.from_table(table, overrun="keep")
    assert kept.jobs.select("requested_time", "time_limit").rows() == [(20.0, 30.0), (25.0, 25.0)]
    assert kept.report.counts()["mended"] == {reasons.REQUESTED_TIME_OF_LIMIT: 1}
    cut = Workload.from_table(table, overrun="cut").jobs
    assert cut.select("run_time", "requested_time", "time_limit").rows() == [
        (20.0, 20.0, 30.0),
        (25.0, 25.0, 25.0),
    ]


def test_what_a_job_asked_for_stays_its_limit() -> None:
    """A table without limits has them in its requested times, as they were before they were extended."""
    jobs = admitted(requested_time=[20, 40]).jobs
    assert jobs.select("requested_time", "time_limit").rows() == [(60.0, 20.0), (40.0, 40.0)]
    assert "time_limit" not in admitted(requested_time=[60, 40]).jobs.columns


@pytest.mark.parametrize("none", [None, math.inf, math.nan])
def test_a_job_without_a_limit(none: float | None) -> None:
    """It is planned with what it asks for, or with no end at all, and never with its run time."""
    jobs = admitted(time_limit=[none, none], requested_time=[100, None]).jobs
    assert jobs.select("requested_time", "time_limit").rows() == [(100.0, math.inf), (math.inf, math.inf)]
    assert admitted(requested_time=[math.inf, 40]).jobs["requested_time"].to_list() == [math.inf, 40.0]


def test_descriptions_with_limits() -> None:
    """Jobs without a limit of their own have the usual one beside jobs that have one, or none."""
    jobs = Workload.from_jobs(
        [
            JobDescription(tasks=1, run_time=5, time_limit=math.inf),
            JobDescription(tasks=1, run_time=5, time_limit=3, requested_time=4),
            JobDescription(tasks=1, run_time=5, requested_time=7),
            JobDescription(tasks=1, run_time=5),
        ],
        overrun="keep",
    ).jobs
    assert jobs.select("requested_time", "time_limit").rows() == [
        (math.inf, math.inf),
        (4.0, 3.0),
        (7.0, 7.0),
        (5.0, 5.0),
    ]


def test_large_numbers_of_jobs() -> None:
    """Numbers beyond 2^53 stay what they are, as numbers and as texts."""
    numbers = [2**53 + 1, 2**63 - 1]
    assert admitted(job_id=numbers).jobs["job_id"].to_list() == numbers
    assert admitted(job_id=[str(number) for number in numbers]).jobs["job_id"].to_list() == numbers


def test_overruns() -> None:
    """The three treatments of a job that ran longer than it asked for."""
    table = TABLE | {"requested_time": [20, 40]}
    times = {
        overrun: Workload.from_table(table, overrun=overrun).jobs.select("run_time", "requested_time").rows()
        for overrun in ("extend", "cut", "keep")
    }
    assert times == {
        "extend": [(60.0, 60.0), (30.5, 40.0)],
        "cut": [(20.0, 20.0), (30.5, 40.0)],
        "keep": [(60.0, 20.0), (30.5, 40.0)],
    }


def test_kinds_of_tables() -> None:
    """Polars frames, eager and lazy, Arrow tables, pandas frames and mappings are read alike."""
    frame = pl.DataFrame(TABLE, strict=False).with_columns(name=pl.Series(["a", None]))
    expected = Workload.from_table(frame).jobs
    assert Workload.from_table(frame.lazy()).jobs.equals(expected)
    assert Workload.from_table(frame.to_dict()).jobs.equals(expected)
    arrow = type(
        "Arrow", (), {"__arrow_c_stream__": lambda _, schema=None: frame.__arrow_c_stream__(schema)}
    )()
    assert Workload.from_table(arrow).jobs.equals(expected)


def test_pandas_frames() -> None:
    """A pandas frame is read without pyarrow, whatever its index."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE | {"name": ["a", None]}, index=[5, 3])
    assert Workload.from_table(frame).jobs.equals(admitted(name=["a", None]).jobs)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"submit_time": [0], "run_time": [1], "task": [1]}, "no column 'tasks'.*Did you mean 'task'"),
        ({}, "no column 'submit_time'; a job needs"),
        (TABLE | {"tasks": [1]}, "the table cannot be read: .* Give columns of equal length"),
        (TABLE | {"tasks": [[1], [2]]}, "column 'tasks' is of the kind List.*; must be numbers"),
        (
            TABLE | {"exclusive": ["yes", "no"]},
            "column 'exclusive' is of the kind String; must be true or false",
        ),
        ([1, 2], "a list; must be a polars or pandas data frame"),
        (None, "the table is None, a NoneType"),
    ],
)
def test_wrong_tables(table: object, message: str) -> None:
    """A table of the wrong form is one error."""
    with pytest.raises(WorkloadError, match=message):
        Workload.from_table(table)


def test_dates_are_no_seconds() -> None:
    """A column of dates is refused, since it has an origin of its own."""
    frame = pl.DataFrame(TABLE, strict=False).with_columns(pl.from_epoch("submit_time"))
    with pytest.raises(
        WorkloadError, match=r"column 'submit_time' is of the kind Datetime.*times in seconds"
    ):
        Workload.from_table(frame)


def test_wrong_arguments() -> None:
    """Resources must be columns, and words known ones."""
    with pytest.raises(WorkloadError, match=r"resource 'gqu' is no column of amounts\. Did you mean 'gpu'"):
        Workload.from_table(TABLE | {"gpu": [1, 1]}, resources=["gqu"])
    with pytest.raises(WorkloadError, match="resource 'tasks' is no column of amounts"):
        Workload.from_table(TABLE, resources=["tasks"])
    with pytest.raises(WorkloadError, match="overrun = 'x'; must be 'extend', 'cut' or 'keep'"):
        Workload.from_table(TABLE, overrun="x")  # type: ignore[arg-type]


def test_the_constructor_checks_columns() -> None:
    """A workload cannot be made of a table that did not pass the gate."""
    with pytest.raises(WorkloadError, match=r"the first must be job_id Int64, .*\. Use Workload\.from_table"):
        Workload(pl.DataFrame(TABLE, strict=False))
    with pytest.raises(WorkloadError, match="mem Int64"):
        dataclasses.replace(admitted(), resources=("mem",))
    with pytest.raises(WorkloadError, match=r"must be a polars data frame\. Use Workload\.from_table"):
        Workload(TABLE)  # type: ignore[arg-type]


def test_a_workload_is_a_frozen_value() -> None:
    """Fields cannot be set; copies and pickles are equal."""
    workload = admitted()
    with pytest.raises(dataclasses.FrozenInstanceError):
        workload.jobs = pl.DataFrame()  # type: ignore[misc]
    for again in (copy.deepcopy(workload), pickle.loads(pickle.dumps(workload))):  # noqa: S301
        assert again.jobs.equals(workload.jobs)
        assert str(again.report) == str(workload.report)


def test_repr_of_an_empty_workload() -> None:
    """No jobs are no trouble."""
    assert repr(admitted().head(0)).startswith("Workload of 0 jobs\n  table: 2 jobs read, 2 mended")


def test_the_report_is_readable() -> None:
    """One line per reason, most frequent first, with the first rows."""
    report = Workload.from_table(
        {"submit_time": [0] * 5, "run_time": [1, -1, -1, -1, -1], "tasks": [1] * 5}
    ).report
    assert str(report).splitlines() == [
        "table: 5 jobs read, 4 dropped, 1 mended",
        "  dropped         4  run_time is unknown or not a number of seconds >= 0 (rows 1, 2, 3, …)",
        "  mended          1  requested_time unknown: run_time taken (row 0)",
    ]
    assert repr(report) == str(report)


NUMBER = st.sampled_from([-1.0, 0.0, 1.0, 1.5, -0.5, 2.0**32, 2.0**54, -1e30]) | st.integers(0, 100).map(
    float
)
NUMBER |= st.just(float("nan")) | st.just(float("inf")) | st.floats()


@given(
    st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), min_size=1),
    st.sampled_from(["extend", "cut", "keep"]),
)
@settings(deadline=None)
def test_tables_and_logs_follow_the_same_rules(rows: list[tuple[float, ...]], overrun: OverrunAction) -> None:
    """The kernel's reader and the gate keep, mend and drop the same jobs for the same reasons."""
    # A table may say that a job has no limit; a log has no word for that.
    rows = [(i, s, r, 2.0**60 if q == math.inf else q, t) for i, s, r, q, t in rows]
    workload = Workload.from_table(pl.DataFrame(rows, FIRST, orient="row"), overrun=overrun)
    # The last line makes it a log, whatever the others are.
    lines = [
        f"{i!r} {s!r} -1 {r!r} -1 -1 -1 {t!r} {q!r} -1 -1 -1 -1 -1 -1 -1 -1 -1" for i, s, r, q, t in rows
    ]
    log = read_swf([*lines, "0 0 -1 0 -1 -1 -1 0 -1"], overrun=overrun)
    assert log.jobs.select(FIRST).equals(workload.jobs.select(FIRST))
    if "time_limit" in workload.jobs.columns:
        assert log.jobs["time_limit"].equals(workload.jobs["time_limit"])

    def listed(table: pl.DataFrame, shift: int) -> list[tuple[Any, ...]]:
        # A log's processors may be unreadable, and are then refused all the same.
        return table.select("reason", pl.col("line") - shift, "job_id").rows()

    assert listed(log.report.dropped, 1)[:-1] == listed(workload.report.dropped, 0)
    assert sorted(listed(log.report.mended, 1)) == sorted(listed(workload.report.mended, 0))
    assert listed(log.report.noted, 1) == listed(workload.report.noted, 0)


@given(
    st.dictionaries(
        st.sampled_from([*FIRST, "mem", "tasks_per_node", "exclusive", "x"]),
        st.lists(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text()
            | st.binary()
            | st.lists(st.integers()),
            max_size=3,
        ),
    )
)
@settings(deadline=None)
def test_any_columns_end_in_jobs_or_one_error(table: dict[str, list[Any]]) -> None:
    """Whatever is in the columns, there is a sound workload or a WorkloadError."""
    try:
        workload = Workload.from_table(table)
    except WorkloadError:
        return
    report = workload.report
    assert report.read == report.kept + report.dropped.height
    assert workload.jobs.filter(
        (pl.col("tasks") < 1) | ~pl.col("submit_time").is_between(0, 2**53)
    ).is_empty()
