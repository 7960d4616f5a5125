"""Forecasts of starts from a simulation (S30)."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.forecast.scores import interval_of_quantiles, pinball, sample_quantiles
from support.python_schedulers import Easy

SYSTEM = bl.System.homogeneous(nodes=8, resources={"core": 1})


def made(jobs: int, days: float, seed: int) -> bl.Workload:
    """Give jobs of nine users that run a part of their limits."""
    rng = np.random.default_rng(seed)
    run = np.floor(rng.uniform(60, 8000, jobs))
    table = {
        "submit_time": np.floor(np.sort(rng.uniform(0, days * 86_400, jobs))),
        "run_time": run,
        "requested_time": np.ceil(run / rng.uniform(0.1, 1.0, jobs)),
        "tasks": rng.integers(1, 8, jobs),
        "user_id": rng.integers(0, 9, jobs),
    }
    return bl.Workload.from_table(table)


WORKLOAD = made(500, 10.0, 3)


def busy(policy: bl.Scheduler | str = "easy", workload: bl.Workload = WORKLOAD) -> bl.Simulation:
    """Give a run with a queue."""
    simulation = bl.Simulation(workload, SYSTEM, policy)
    simulation.run_until(WORKLOAD.jobs["submit_time"][300])
    assert simulation.gauges().queued > 5
    return simulation


def test_true_run_times_give_the_starts_of_the_run() -> None:
    """Without later arrivals they are those of the fork; each quantile is that start."""
    simulation = busy()
    answer = simulation.forecast(3, draws="true")
    fork = simulation.fork(arrivals="none")
    fork.run_until()
    jobs = fork.result().jobs.filter(pl.col("job_id").is_in(answer.jobs["job_id"].implode()))
    for level in ("start_0.1", "start_0.5", "start_0.9"):
        assert answer.jobs[level].to_list() == jobs["start_time"].to_list()


def test_the_plan_is_by_limits() -> None:
    """Every job runs to its limit, and no other arrives."""
    simulation = busy()
    answer = simulation.forecast(2, draws="limits")
    assert answer.jobs["plan"].equals(answer.jobs["start_0.5"], check_names=False)
    ahead = simulation.look_ahead()
    ahead.run_until()
    jobs = ahead.result().jobs.filter(pl.col("job_id").is_in(answer.jobs["job_id"].implode()))
    np.testing.assert_allclose(answer.jobs["plan"].to_numpy(), jobs["start_time"].to_numpy())


def test_nothing_of_the_future_is_known() -> None:
    """Other run times of jobs that run or wait, and other later submissions, change no forecast."""
    simulation = busy()
    states = simulation.status().state
    unknown = pl.Series(np.isin(states, [0, 1, 2]))
    jobs = WORKLOAD.jobs.with_columns(
        run_time=pl.when(unknown).then(pl.col("requested_time")).otherwise(pl.col("run_time"))
    )
    other = busy(workload=replace(WORKLOAD, jobs=jobs))
    assert simulation.forecast(20).jobs.equals(other.forecast(20).jobs)


def test_the_same_for_any_number_of_threads_and_in_python() -> None:
    """A forecast depends on its seed; a scheduler in Python with the same rule has the same one."""
    simulation = busy()
    one = simulation.forecast(30, seed=5, threads=1)
    np.testing.assert_array_equal(one.starts, simulation.forecast(30, seed=5, threads=3).starts)
    assert not np.array_equal(one.starts, simulation.forecast(30, seed=6).starts)
    np.testing.assert_array_equal(one.starts, busy(Easy()).forecast(30, seed=5).starts)


def test_samples_until_they_are_precise() -> None:
    """They are the first ones of all, until the confidence intervals are as short as those of 150 samples."""
    simulation = busy()
    every = simulation.forecast(400, seed=2)
    widest = {
        count: float(interval_of_quantiles(every.starts[:count], every.quantiles).max())
        for count in range(25, 401, 25)
    }
    expected = next(count for count, width in widest.items() if width <= widest[150])
    calls: list[tuple[int, int]] = []
    answer = simulation.forecast(
        400, seed=2, precision=widest[150], progress=lambda done, total: calls.append((done, total))
    )
    assert widest[25] == math.inf
    np.testing.assert_array_equal(answer.starts, every.starts[:expected])
    assert calls == [*((count, 400) for count in range(25, expected, 25)), (400, 400)]
    assert len(simulation.forecast(30, precision=1e-3).starts) == 30


def test_a_horizon() -> None:
    """What does not start in time is later; the chance within a time counts samples."""
    simulation = busy()
    whole = simulation.forecast(40)
    cut = simulation.forecast(40, horizon=600.0)
    late = whole.starts > simulation.now + 600
    np.testing.assert_array_equal(np.isinf(cut.starts), late)
    np.testing.assert_allclose(cut.chance(600)["chance"].to_numpy(), 1 - late.mean(axis=0))
    assert "later" in str(cut)


def test_arrivals_of_past_weeks() -> None:
    """A workload of five weeks has three past weeks that may arrive again; a short one has none."""
    simulation = bl.Simulation(made(2000, 36.0, 1), SYSTEM, "easy")
    simulation.run_until(30 * 86_400)
    usual = simulation.forecast(30)
    without = simulation.forecast(30, arrivals="none")
    assert usual.jobs.height > 10
    assert (usual.past_weeks, without.past_weeks) == (3, 0)
    assert "arrivals      past weeks (3)" in str(usual)
    np.testing.assert_array_equal(simulation.forecast(30, arrivals="week").starts, usual.starts)
    assert not np.array_equal(usual.starts, without.starts)
    short = busy()
    np.testing.assert_array_equal(short.forecast(9).jobs, short.forecast(9, arrivals="none").jobs)
    assert short.forecast(9).past_weeks == 0


def test_no_job_arrives_where_forks_cannot_have_other_arrivals() -> None:
    """A workload with a begin time: the default leaves arrivals out, and past weeks are refused."""
    jobs = made(2000, 36.0, 1).jobs
    begin = np.full(len(jobs), np.nan)
    begin[-1] = 40 * 86_400.0
    workload = bl.Workload.from_table(jobs.with_columns(begin_time=pl.Series(begin).fill_nan(None)))
    simulation = bl.Simulation(workload, SYSTEM, "easy")
    simulation.run_until(30 * 86_400)
    assert simulation.forecast(5).past_weeks == 0
    with pytest.raises(bl.SimulationError, match='use arrivals="none"'):
        simulation.forecast(5, arrivals="week")


def test_an_empty_queue() -> None:
    """The table has no rows, and says so."""
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "easy")
    answer = simulation.forecast(10)
    assert answer.jobs.is_empty()
    assert "0 jobs" in str(answer)
    assert "0 jobs" in answer._repr_html_()  # of notebooks
    assert answer.plot().texts[0].get_text() == "no job waits"


def test_shown_in_a_line() -> None:
    """Answers say what they are about; the tables are their attributes."""
    simulation = busy()
    now, waiting = simulation.now, simulation.gauges().queued
    assert repr(simulation.forecast(2)) == f"<Forecast of {waiting} waiting jobs at {now:,g} s>"
    submitted = repr(simulation.forecast_submission(tasks=[1, 2], limits=[600], samples=2))
    assert submitted.startswith("<Forecast of 2 jobs like ")


def test_text_html_and_picture() -> None:
    """Each shows the jobs."""
    answer = busy().forecast(20)
    first = str(answer.jobs["job_id"][0])
    assert first in str(answer)
    assert first in answer._repr_html_()  # of notebooks
    picture = answer.plot()
    assert first in [label.get_text() for label in picture.get_yticklabels()]
    assert "10 to 90 %" in picture.get_legend_handles_labels()[1]
    assert max(len(line) for line in str(answer).splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"precision": 0}, "precision = 0"),
        ({"samples": 0}, "samples = 0"),
        ({"quantiles": ()}, "quantiles"),
        ({"quantiles": (0.5, 0.1)}, "must ascend"),
        ({"quantiles": (0.0, 0.5)}, "quantiles"),
        ({"draws": "users"}, "draws = 'users'"),
        ({"arrivals": "month"}, "arrivals = 'month'"),
        ({"correlation": 2}, "correlation = 2"),
        ({"horizon": 0}, "horizon = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"threads": 0}, "threads = 0"),
        ({"at": 0.0}, "at = 0 s"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    """The error names the argument, its value and the rule."""
    with pytest.raises(bl.SimulationError, match=message):
        busy().forecast(**arguments)


def test_if_it_were_submitted_now() -> None:
    """A job of each size and limit takes the place of the one that ended last."""
    simulation = busy()
    before = simulation.result().jobs
    answer = simulation.forecast_submission([1, 8], [60.0, 7200.0], samples=40, draws="true")
    assert simulation.result().jobs.equals(before)
    assert answer.table.columns == ["tasks", "requested_time", "wait_0.1", "wait_0.5", "wait_0.9"]
    waits = {(row[0], row[1]): row[3] for row in answer.table.iter_rows()}
    assert waits[1, 60.0] <= waits[8, 7200.0]
    table = {
        "job_id": [answer.like],
        "submit_time": [simulation.now],
        "tasks": [8],
        "requested_time": [7200.0],
    }
    fork = simulation.fork(arrivals=table)
    fork.run_until()
    start = fork.result().jobs.filter(pl.col("job_id") == answer.like)["start_time"].item()
    assert waits[8, 7200.0] == pytest.approx(start - simulation.now)
    assert str(answer.like) in str(answer)
    assert "tasks" in answer._repr_html_()  # of notebooks


def test_if_it_were_submitted_after_the_last_event() -> None:
    """The wait counts from that instant: the one running job has less to go."""
    jobs = {
        "submit_time": [0, 10, 500],
        "run_time": [5, 90, 1],
        "requested_time": [5, 90, 1],
        "tasks": [1, 1, 1],
    }
    workload = bl.Workload.from_table(jobs)
    simulation = bl.Simulation(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), "easy")
    simulation.run_until(60)
    wanted: dict[str, Any] = {"tasks": [1], "limits": [60.0], "samples": 1, "draws": "true"}
    waits = [simulation.forecast_submission(**wanted, at=at).table["wait_0.5"].item() for at in (None, 60)]
    assert (simulation.now, waits) == (10, [90, 40])


def test_time_of_a_forecast_is_a_date() -> None:
    """Where the system or the log says when time 0 was."""
    system = replace(SYSTEM, start_time=1_000_000_000)
    simulation = bl.Simulation(WORKLOAD, system, "easy")
    simulation.run_until(float(WORKLOAD.jobs["submit_time"][200]))
    date = dt.datetime.fromtimestamp(1e9 + simulation.now, dt.UTC)
    for answer in (simulation.forecast(2), simulation.forecast_submission([1], [60.0], samples=2)):
        assert f"{date:%Y-%m-%d %H:%M:%S}" in str(answer)


def test_nothing_has_ended_yet() -> None:
    """Then the place of a job that is not yet submitted is named."""
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "easy")
    with pytest.raises(bl.SimulationError, match="no job has ended"):
        simulation.forecast_submission([1], [60.0])
    later = int(WORKLOAD.jobs["job_id"][-1])
    assert simulation.forecast_submission([1], [60.0], like=later, samples=2).table["wait_0.5"].item() == 0.0


def test_quantiles_are_unbiased_order_statistics() -> None:
    """Of 9 samples the 10 % quantile is the least one; infinities stay what they are."""
    starts = np.arange(1.0, 10.0)[:, None]
    np.testing.assert_allclose(sample_quantiles(starts, (0.1, 0.5, 0.9, 0.25))[:, 0], [1, 5, 9, 2.5])
    starts[5:] = np.inf
    np.testing.assert_array_equal(sample_quantiles(starts, (0.5, 0.55, 0.9))[:, 0], [5, np.inf, np.inf])
    np.testing.assert_allclose(pinball(np.array([2.0, 2.0]), np.array([5.0, 1.0]), 0.9), [2.7, 0.1])
