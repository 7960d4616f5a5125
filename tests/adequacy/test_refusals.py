"""Where the measure is not defined: each reason alone, and which job is named."""

import re

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import AdequacyError
from support.results import Job, make_result
from support.streams import shifted, stream

compare = bl.adequacy.compare
# A job must not start before its submission, whatever the tests change of this.
REAL = shifted(stream(core=[2, 2, 2, 2]), range(4), 5.0).with_columns(state=pl.lit("completed"))
FIELDS = {"submit_time": 20.0, "tasks": 1.0, "core": 2.0, "requested_time": 1000.0}


def changed(field: str, value: object, row: int = 1, jobs: pl.DataFrame = REAL) -> pl.DataFrame:
    """Give the stream with another value in one row."""
    values: list[object] = jobs[field].to_list()
    values[row] = value
    return jobs.with_columns(pl.Series(field, values, strict=False))


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_alone(field: str) -> None:
    """The job, the field, both values and the rule are named."""
    value = FIELDS[field]
    text = (
        rf"job 2 \(number 2 by arrival\): {field} = {value:g} in real, {value + 1:g} in model; must be equal"
    )
    with pytest.raises(AdequacyError, match=text):
        compare(REAL, changed(field, value + 1))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("sign", [1, -1])
def test_at_the_tolerance(field: str, sign: int) -> None:
    """A difference of the tolerance is allowed, more is not."""
    value = FIELDS[field]
    assert compare(REAL, changed(field, value + 0.25 * sign), tolerance={field: 0.25}).P < 1
    with pytest.raises(AdequacyError, match=rf"{field} = .*; must be equal up to the tolerance of 0\.25"):
        compare(REAL, changed(field, value + 0.2501 * sign), tolerance={field: 0.25})


def test_seconds_are_for_times() -> None:
    """A number is a tolerance of both times; resources are no seconds."""
    late = changed("requested_time", 1001.0, jobs=changed("submit_time", 21.0))
    assert compare(REAL, late, tolerance=1).fields == ("submit_time", "tasks", "core", "requested_time")
    with pytest.raises(AdequacyError, match=r"submit_time = 20 in real, 21 in model"):
        compare(REAL, late, tolerance=0.9)
    with pytest.raises(AdequacyError, match=r"tasks = 1 in real, 2 in model; must be equal, or"):
        compare(REAL, changed("tasks", 2), tolerance=1)


def test_rounding_is_no_difference_beyond_the_tolerance() -> None:
    """10.3 and 10.2 are 0.1 apart, whatever float64 makes of it."""
    real, model = changed("submit_time", 10.2, 0), changed("submit_time", 10.3, 0)
    assert compare(real, model, tolerance=0.1).differing_waits == 0
    with pytest.raises(AdequacyError, match="submit_time"):
        compare(real, model)


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        (-1, "tolerance['submit_time'] = -1; must be a finite number >= 0"),
        (float("nan"), "tolerance['submit_time'] = nan"),
        ({"task": 1}, "tolerance: 'task' is not compared. Did you mean 'tasks'?"),
        ({"core": "x"}, "tolerance['core'] = 'x'"),
    ],
)
def test_tolerance_is_checked(tolerance: object, text: str) -> None:
    """Numbers from 0, for fields that there are."""
    with pytest.raises(AdequacyError, match=re.escape(text)):
        compare(REAL, REAL, tolerance=tolerance)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[0, 2, 3], [0, 1, 2], [3]])
def test_other_numbers_of_jobs(rows: list[int]) -> None:
    """The first job that is in one stream only is named, whichever has it."""
    missing = min({0, 1, 2, 3} - {*rows})
    text = rf"job {missing + 1} \(number {missing + 1} by arrival, submitted at {10 * (missing + 1)} s\)"
    counts = rf"in real only: 4 jobs in real, {len(rows)} in model; the numbers must be equal.*not reproduced"
    with pytest.raises(AdequacyError, match=f"{text} is {counts}"):
        compare(REAL, REAL[rows])
    with pytest.raises(
        AdequacyError, match=rf"{text} is in model only: {len(rows)} jobs in real, 4 in model"
    ):
        compare(REAL[rows], REAL)


def test_other_numbers_without_ids() -> None:
    """Without ids the first job that was not submitted at the same time is named."""
    jobs = REAL.drop("job_id")
    with pytest.raises(AdequacyError, match=r"job 2 \(number 2 by arrival, submitted at 20 s\)"):
        compare(jobs, jobs[[0, 2, 3]])
    with pytest.raises(AdequacyError, match=r"job 4 \(number 4 by arrival"):
        compare(jobs, jobs[:3])


def test_no_jobs() -> None:
    """Nothing is no stream."""
    with pytest.raises(AdequacyError, match="real: has no jobs; nothing can be compared"):
        compare(REAL[:0], REAL[:0])
    with pytest.raises(AdequacyError, match=r"job 1 .* in real only: 4 jobs in real, 0 in model"):
        compare(REAL, REAL[:0])


def test_first_by_arrival_is_named() -> None:
    """Not the first by row, nor the first field; of equal submit times the lowest id."""
    real = stream(submit_time=[50, 10, 10, 0], job_id=[1, 9, 4, 7])
    wrong = real.with_columns(
        tasks=pl.Series([2, 2, 1, 1]), requested_time=pl.Series([1000, 1000, 900, 1000])
    )
    with pytest.raises(
        AdequacyError, match=r"job 4 \(number 2 by arrival\): requested_time = 1000 in real, 900"
    ):
        compare(real, wrong)
    with pytest.raises(AdequacyError, match=r"job 9 \(number 3 by arrival\): tasks = 1 in real, 2 in model"):
        compare(real, wrong.with_columns(requested_time=pl.lit(1000)))
    both = wrong.with_columns(requested_time=pl.lit(1), tasks=pl.lit(5))
    with pytest.raises(AdequacyError, match=r"job 7 \(number 1 by arrival\): tasks = 1 in real, 5 in model"):
        compare(real, both)


def test_rows_break_ties_without_ids() -> None:
    """Of jobs that are submitted at one time without ids, the first row is the first job."""
    real = stream(submit_time=[5, 5, 5]).drop("job_id")
    with pytest.raises(AdequacyError, match=r"job 2 \(number 2 by arrival\): tasks"):
        compare(real, real.with_columns(tasks=pl.Series([1, 2, 2])))


NEVER: dict[str, object] = {"start_time": None, "end_time": None, "state": "rejected"}
EVENTS: dict[str, dict[str, object]] = {
    "never started": NEVER,
    "killed": {"state": "killed"},
    "started, but not ended": {"end_time": None, "state": "running"},
}


def happened(what: dict[str, object], row: int = 2) -> pl.DataFrame:
    """Give the stream in which something else became of one job."""
    jobs = REAL
    for field, value in what.items():
        jobs = changed(field, value, row, jobs)
    return jobs


@pytest.mark.parametrize("name", EVENTS)
def test_events_in_one_stream_only(name: str) -> None:
    """What was cancelled in the queue, cut short or still runs in one stream only is not reproduced."""
    other = happened(EVENTS[name])
    where = r"job 3 \(number 3 by arrival\): event not reproduced"
    with pytest.raises(AdequacyError, match=f"{where}: completed in real, {name} in model; must be the same"):
        compare(REAL, other)
    with pytest.raises(AdequacyError, match=f"{where}: {name} in real, completed in model"):
        compare(other, REAL)


def test_start_before_submission() -> None:
    """A job that starts before it is submitted is no job of a stream."""
    early = changed("start_time", 5.0, 1)
    with pytest.raises(AdequacyError, match="model: job 2: submit_time = 20, start_time = 5; a job starts"):
        compare(REAL, early)


def test_cancelled_in_both() -> None:
    """What started in neither is left out of the vectors, and counted; of the others nothing changes."""
    one, other = happened(NEVER), shifted(happened(NEVER), [3], 5.0)
    found = compare(one, other)
    assert (len(found), found.left_out, found.E, found.differing_waits) == (3, 1, 5.0, 1)
    assert found.differences["job_id"].to_list() == [1, 2, 4]
    assert found.by_first()["jobs"].to_list() == [3]
    assert "1 job that did not start" in str(found)


def test_cancelled_jobs_are_submitted_alike_too() -> None:
    """Their requests are compared before they are left out."""
    with pytest.raises(AdequacyError, match=r"job 3 .*: core = 2 in real, 3 in model"):
        compare(happened(NEVER), changed("core", 3, 2, happened(NEVER)))


def test_killed_in_both() -> None:
    """That is reproduced, and counts as any residence."""
    assert compare(happened({"state": "killed"}), happened({"state": "TIMEOUT"})).P == 0


def test_none_left() -> None:
    """Where no job has ended there is nothing to compare."""
    jobs = REAL.with_columns(start_time=None, end_time=None, state=pl.lit("queued"))
    with pytest.raises(AdequacyError, match="none of its 4 jobs has started and ended"):
        compare(jobs, jobs)


def test_of_results() -> None:
    """States of our own runs count as those of tables."""
    jobs = [Job(0, 0, 50), Job(10, 20, 60, state="killed"), Job(20, state="rejected", run=5)]
    assert compare(make_result(jobs), make_result(jobs)).left_out == 1
    unlike = [jobs[0], Job(10, 20, 60), jobs[2]]
    with pytest.raises(AdequacyError, match=r"job 2 .*: killed in real, completed in model"):
        compare(make_result(jobs), make_result(unlike))
