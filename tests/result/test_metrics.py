"""The measures, on schedules small enough to be worked out by hand."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from batchlab.errors import ResultError
from batchlab.result import metrics
from support.results import Job, make_result

if TYPE_CHECKING:
    from batchlab.result.result import Result


def test_wait_is_start_less_submission(three: Result) -> None:
    """Jobs that never start have no wait."""
    assert metrics.wait(three.jobs).to_list() == [0, 90, 130, None]


def test_turnaround_is_end_less_submission(three: Result) -> None:
    """Jobs that never end have no turnaround."""
    assert metrics.turnaround(three.jobs).to_list() == [100, 140, 140, None]


def test_slowdown_is_turnaround_over_run_time(three: Result) -> None:
    """140 s for a run of 50 s is a slowdown of 2.8."""
    assert metrics.slowdown(three.jobs).to_list() == [1, 2.8, 14, None]


def test_slowdown_of_no_run_time_is_not_defined() -> None:
    """A job of zero run time has no slowdown, but a bounded one."""
    jobs = make_result([Job(0, 40, 40, nodes=((0, 1),), run=0)]).jobs
    assert metrics.slowdown(jobs).to_list() == [None]
    assert metrics.bounded_slowdown(jobs).to_list() == [4]


def test_a_killed_job_counts_with_the_time_it_ran() -> None:
    """Killed after 100 s of its 1000 s, having waited 100 s: its slowdown is 2."""
    jobs = make_result([Job(0, 100, 200, nodes=((0, 1),), state="killed", run=1000, requested=100)]).jobs
    assert metrics.slowdown(jobs).to_list() == [2]
    assert metrics.bounded_slowdown(jobs).to_list() == [2]


def test_bounded_slowdown_takes_short_runs_as_the_threshold() -> None:
    """A run of 1 s after 49 s is a bounded slowdown of 50/10; one that did not wait is 1, not 0.1."""
    jobs = make_result([Job(0, 49, 50, nodes=((0, 1),)), Job(0, 0, 1, nodes=((1, 1),))]).jobs
    assert metrics.bounded_slowdown(jobs).to_list() == [5, 1]
    assert metrics.bounded_slowdown(jobs, threshold=25).to_list() == [2, 1]


def test_per_processor_slowdown_divides_by_the_processors_held() -> None:
    """A wait of 300 s before 100 s on 2 cores is 400 / (2 × 100); on 8 cores it is at the bound."""
    jobs = make_result(
        [Job(0, 300, 400, nodes=((0, 2),)), Job(0, 300, 400, nodes=((0, 2), (1, 2), (2, 4)))]
    ).jobs
    assert metrics.per_processor_slowdown(jobs).to_list() == [2, 1]


def test_per_processor_slowdown_counts_tasks_where_there_are_no_cores() -> None:
    """A table without the column allocated_core is measured by tasks."""
    jobs = make_result([Job(0, 300, 400, nodes=((0, 2),), tasks=4)]).jobs.drop("allocated_core")
    assert metrics.per_processor_slowdown(jobs).to_list() == [1]


@pytest.mark.parametrize("threshold", [0, -1, math.nan])
def test_the_threshold_is_above_zero(three: Result, threshold: float) -> None:
    """Anything else is refused with the rule."""
    with pytest.raises(ResultError, match=r"threshold = .* s; must be > 0"):
        metrics.bounded_slowdown(three.jobs, threshold)


def test_plain_tables_can_be_measured() -> None:
    """A log with start and end times, as whole numbers and without states, needs no simulation."""
    jobs = pl.DataFrame(
        {"submit_time": [0, 5], "start_time": [0, 10], "end_time": [10, 30], "run_time": [10, 20]}
    )
    assert metrics.wait(jobs).to_list() == [0.0, 5.0]
    assert metrics.bounded_slowdown(jobs).to_list() == [1.0, 1.25]
    assert metrics.makespan(jobs) == 30


def test_describe_interpolates_linearly() -> None:
    """Quantiles are NumPy's default ones; infinities, NaN and nulls are left out."""
    values = [7.0, 1.0, 4.0, 11.0, 2.0]
    described = metrics.describe(pl.Series([*values, None, math.inf, math.nan]))
    assert described == {
        "mean": 5.0,
        "median": 4.0,
        "p95": pytest.approx(np.quantile(values, 0.95)),
        "p99": pytest.approx(np.quantile(values, 0.99)),
        "max": 11.0,
    }


def test_describe_of_nothing_is_none() -> None:
    """None, never NaN."""
    assert set(metrics.describe(pl.Series([], dtype=pl.Float64)).values()) == {None}
    assert set(metrics.describe(pl.Series([None, None])).values()) == {None}


def test_states_are_all_counted(three: Result) -> None:
    """States without jobs count 0."""
    counted = {"loaded": 0, "queued": 0, "running": 0, "completed": 3, "killed": 0, "rejected": 1}
    counted["cancelled"] = 0
    assert metrics.states(three.jobs) == counted


def test_makespan_is_from_the_first_submission_to_the_last_end(three: Result) -> None:
    """Throughput is the jobs that ran over it."""
    assert metrics.makespan(three.jobs) == 160
    assert metrics.throughput(three.jobs) == 3 / 160


def test_the_first_submission_need_not_be_at_zero() -> None:
    """Neither makespan nor what is divided by it depends on the origin."""
    result = make_result([Job(1000, 1000, 1100, nodes=((0, 2), (1, 2)))])
    assert metrics.makespan(result.jobs) == 100
    assert metrics.utilisation(result.jobs, result.system) == {"core": 0.5}


def test_utilisation_is_what_was_held_over_capacity(three: Result) -> None:
    """4 × 100 + 8 × 50 + 2 × 10 core-seconds of 8 cores × 160 s."""
    assert metrics.utilisation(three.jobs, three.system) == {"core": 820 / 1280}


def test_queue_length_is_weighted_by_time(three: Result) -> None:
    """The waits add up to 90 + 130 s over 160 s; two jobs at most wait together."""
    assert metrics.queue_length(three.jobs) == {"mean": 220 / 160, "max": 2}


def test_a_job_that_starts_at_once_was_never_queued() -> None:
    """The queue is looked at after each instant."""
    assert metrics.queue_length(make_result([Job(0, 0, 5, nodes=((0, 1),))]).jobs) == {"mean": 0, "max": 0}


def test_loss_of_capacity_is_idle_while_asked_for(three: Result) -> None:
    """Over [10, 100) 4 cores are idle while 8 or 10 are asked for; over [100, 150) none is idle."""
    assert metrics.loss_of_capacity(three.jobs, three.system) == {"core": 4 * 90 / 1280}


def test_loss_of_capacity_counts_no_more_than_is_asked_for() -> None:
    """Over [0, 50) one core is asked for while 6 of 8 are idle: 50 of 8 × 100 core-seconds are lost."""
    result = make_result([Job(0, 0, 100, nodes=((0, 2),)), Job(0, 50, 100, nodes=((1, 1),))])
    assert metrics.loss_of_capacity(result.jobs, result.system) == {"core": 50 / 800}


def test_jobs_still_queued_ask_for_their_tasks() -> None:
    """In a run that has not ended, a queued job's demand is that of its tasks."""
    jobs = [Job(0, 0, 100, nodes=((0, 2), (1, 2))), Job(0, state="queued", tasks=3), Job(500, state="loaded")]
    result = make_result(jobs)
    assert metrics.loss_of_capacity(result.jobs, result.system) == {"core": 3 * 100 / 800}
    assert metrics.queue_length(result.jobs) == {"mean": 1, "max": 1}
    assert metrics.describe(metrics.wait(result.jobs))["max"] == 0


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param([], id="no jobs"),
        pytest.param([Job(3, state="rejected")], id="all rejected"),
        pytest.param([Job(3, 3, 3, nodes=((0, 1),))], id="one job of no time"),
        pytest.param([Job(3, 3, None, nodes=((0, 1),), state="running")], id="one running job"),
    ],
)
def test_nothing_is_not_a_number(jobs: list[Job]) -> None:
    """Where there is nothing to measure every aggregate is None or 0, and can be written as JSON."""
    measured = make_result(jobs).metrics()
    json.dumps(measured, allow_nan=False)
    assert measured["throughput"] is None
    assert measured["utilisation"] == {"core": None}
    assert measured["loss_of_capacity"] == {"core": None}


def test_the_overview_holds_every_measure(three: Result) -> None:
    """What `overview` gives are the measures by themselves."""
    measured = metrics.overview(three.jobs, three.system, threshold=20)
    jobs = three.jobs
    assert measured == {
        "jobs": {"submitted": 4, **metrics.states(jobs)},
        "wait": metrics.describe(metrics.wait(jobs)),
        "turnaround": metrics.describe(metrics.turnaround(jobs)),
        "slowdown": metrics.describe(metrics.slowdown(jobs)),
        "bounded_slowdown": metrics.describe(metrics.bounded_slowdown(jobs, 20)),
        "per_processor_slowdown": metrics.describe(metrics.per_processor_slowdown(jobs, 20)),
        "makespan": metrics.makespan(jobs),
        "throughput": metrics.throughput(jobs),
        "utilisation": metrics.utilisation(jobs, three.system),
        "queue_length": metrics.queue_length(jobs),
        "loss_of_capacity": metrics.loss_of_capacity(jobs, three.system),
        "rejected": metrics.rejected(jobs),
    }
    assert three.metrics(threshold=20) == measured


def test_results_are_measured_as_their_tables(three: Result) -> None:
    """What a measure needs besides the jobs, it takes from the result."""
    for measure in (metrics.wait, metrics.turnaround, metrics.slowdown, metrics.per_processor_slowdown):
        assert measure(three).equals(measure(three.jobs))
    assert metrics.bounded_slowdown(three, threshold=60).equals(
        metrics.bounded_slowdown(three.jobs, threshold=60)
    )
    assert metrics.makespan(three) == metrics.makespan(three.jobs)
    assert metrics.utilisation(three) == metrics.utilisation(three.jobs, three.system)
    assert metrics.loss_of_capacity(three) == three.metrics()["loss_of_capacity"]
    assert metrics.queue_length(three) == three.metrics()["queue_length"]
    with pytest.raises(ResultError, match="must be a Result, or a table"):
        metrics.wait("jobs.csv")  # type: ignore[arg-type]  # that is the test
