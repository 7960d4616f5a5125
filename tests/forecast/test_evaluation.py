"""How well forecasts are calibrated, beside baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import batchlab as bl
from batchlab.forecast.baselines import BoostedWaits, WaitBounds, WaitHistory, bound, queue_lengths
from batchlab.forecast.conformal import Adjustment
from batchlab.forecast.evaluation import Method, _Forecasts
from batchlab.forecast.scores import (
    LEVELS,
    MEDIAN,
    Cases,
    Scores,
    classes_of,
    coverage_by_class,
    interval_of_quantiles,
)

SYSTEM = bl.System.homogeneous(nodes=8, resources={"core": 1})


def made(jobs: int, days: float, seed: int) -> bl.Workload:
    """Give jobs of users who each run a share of their limits."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 9, jobs)
    limit = rng.choice([1800.0, 7200.0, 14400.0], jobs)
    table = {
        "submit_time": np.floor(np.sort(rng.uniform(0, days * 86_400, jobs))),
        "run_time": np.floor(limit * np.clip(rng.normal(0.1 + 0.1 * user, 0.1), 0.02, 1.0)),
        "requested_time": limit,
        "tasks": rng.integers(1, 8, jobs),
        "user_id": user,
    }
    return bl.Workload.from_table(table)


WORKLOAD = made(1500, 26.0, 2)


@pytest.fixture(scope="module")
def evaluation() -> bl.forecast.Evaluation:
    """Evaluate forecasts on a small workload."""
    return bl.forecast.evaluate(
        WORKLOAD, SYSTEM, "easy", instants=60, calibration_instants=40, samples=40, threads=1
    )


def test_forecasts_are_better_than_baselines(evaluation: bl.forecast.Evaluation) -> None:
    """By pinball loss; and their intervals cover what they say, roughly: 60 instants are few."""
    loss = dict(evaluation.scores.select("method", "pinball_by_instants").iter_rows())
    others = {name: value for name, value in loss.items() if not name.startswith("forecast")}
    assert loss["forecast"] < min(others.values())
    covers = dict(evaluation.scores.select("method", "coverage_80").iter_rows())
    assert 0.6 < covers["forecast"] < 0.95
    assert covers["plan by limits"] < 0.1


def test_tables_and_text(evaluation: bl.forecast.Evaluation) -> None:
    """Classes add up to all cases, shares ascend by level, and the text fits a terminal of 110 columns."""
    own = evaluation.classes.filter(pl.col("method") == "forecast")
    assert own["cases"].sum() == evaluation.cases
    shares = evaluation.reliability.filter(pl.col("method") == "forecast")["share"]
    assert shares.is_sorted()
    text = str(evaluation)
    assert "plan, adjusted" in text
    assert max(len(line) for line in text.splitlines()) <= 110
    names = [each.get_text() for each in evaluation.plot().get_legend().get_texts()]  # type: ignore[union-attr]
    assert names[0] == "forecast"
    # The one of the two that was chosen is drawn once.
    assert len({"forecast, raw", "forecast, adjusted"} & set(names)) == 1


def test_the_same_for_one_seed(evaluation: bl.forecast.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads do not matter. Without scikit-learn only the regression is missing."""
    monkeypatch.setattr("batchlab.forecast.evaluation.has_regression", lambda: False)
    again = bl.forecast.evaluate(
        WORKLOAD, SYSTEM, "easy", instants=60, calibration_instants=40, samples=40, threads=2
    )
    assert evaluation.scores["method"][-1] == "boosted regression with the plan"
    assert again.scores.equals(evaluation.scores[:-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"instants": 0}, "instants = 0"),
        ({"calibration_instants": 0}, "calibration_instants = 0"),
        ({"draws": ("all",)}, "draws"),
        ({"correlations": (2,)}, "correlations"),
        ({"arrivals": ("day",)}, "arrivals"),
        ({"starts": "real"}, "starts = 'real'"),
        ({"starts": "log"}, "starts = 'log'; needs the column start_time"),
        ({"samples": 0}, "samples = 0"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    """The error names the argument, its value and the rule."""
    with pytest.raises(bl.SimulationError, match=message):
        bl.forecast.evaluate(WORKLOAD, SYSTEM, "easy", **arguments)


def test_nobody_waits() -> None:
    """Then there is nothing to forecast."""
    large = bl.System.homogeneous(nodes=8000, resources={"core": 1})
    with pytest.raises(bl.SimulationError, match="no job waits between"):
        bl.forecast.evaluate(WORKLOAD, large, "easy")


def logged() -> bl.Workload:
    """Give the jobs with the starts of a run under fcfs, as a log has them."""
    run = bl.simulate(WORKLOAD, SYSTEM, "fcfs")
    return bl.Workload.from_table(WORKLOAD.jobs.with_columns(run.jobs["start_time"]))


def test_starts_of_the_log_are_forecast_exactly_by_its_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """With true run times under fcfs, where no later arrival matters; under easy the log differs."""
    monkeypatch.setattr("batchlab.forecast.evaluation.has_regression", lambda: False)
    workload = logged()

    def found(policy: str) -> dict[str, float]:
        evaluation = bl.forecast.evaluate(
            workload,
            SYSTEM,
            policy,
            starts="log",
            instants=20,
            calibration_instants=10,
            draws=("true",),
            correlations=(1.0,),
            arrivals=("none",),
            samples=2,
            threads=1,
        )
        assert evaluation.left_out == 0
        return dict(evaluation.scores.select("method", "median_error").iter_rows())

    assert found("fcfs")["forecast"] == 0.0
    assert found("easy")["forecast"] > 600.0


def test_jobs_that_wait_beside_an_idle_machine_are_forecast_to_start_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this log each job starts an hour after its submission, and the next one comes two hours later."""
    monkeypatch.setattr("batchlab.forecast.evaluation.has_regression", lambda: False)
    submit = 7200.0 * np.arange(100)
    table = {
        "submit_time": submit,
        "start_time": submit + 3600.0,
        "run_time": np.full(100, 60.0),
        "requested_time": np.full(100, 90.0),
        "tasks": np.ones(100, np.int64),
    }
    found = bl.forecast.evaluate(
        bl.Workload.from_table(table),
        SYSTEM,
        "easy",
        starts="log",
        instants=10,
        calibration_instants=10,
        samples=5,
        threads=1,
    )
    own = found.scores.filter(pl.col("method") == "forecast, raw")
    assert own.select("width", "points").row(0) == (0.0, 1.0)
    assert 0 < own["median_error"][0] < 3600.0


def test_states_that_the_machine_cannot_hold_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is of eight nodes; on seven of them some of its states are possible, on one none."""
    monkeypatch.setattr("batchlab.forecast.evaluation.has_regression", lambda: False)
    workload = logged()

    def evaluated(nodes: int) -> bl.forecast.Evaluation:
        system = bl.System.homogeneous(nodes=nodes, resources={"core": 1})
        return bl.forecast.evaluate(
            workload, system, "easy", starts="log", instants=40, calibration_instants=20, samples=5, threads=1
        )

    seven = evaluated(7)
    assert 0 < seven.left_out < 40
    assert seven.instants + seven.left_out == 40
    assert f"{seven.left_out} left out" in str(seven)
    with pytest.raises(bl.SimulationError, match="no instant can be forecast"):
        evaluated(1)


def test_scores_by_hand() -> None:
    """Two instants, with one and three cases; of the four starts three are in the 80 % interval."""
    cases = Cases(np.array([0, 1, 1, 1]), np.arange(4), np.array([100.0, 50.0, 150.0, 900.0]))
    forecast = np.array([[50.0], [50.0], [80.0], [100.0], [120.0], [200.0], [300.0]]).repeat(4, axis=1)
    scores = Scores.of(forecast, cases)
    assert scores.coverage == {50: 0.25, 80: 0.75, 90: 0.75}
    losses = [(0.1 * 50 + 0 + 0.1 * 100), (0 + 25 + 0.1 * 150), (0.1 * 100 + 25 + 0.1 * 50), (85 + 400 + 630)]
    assert scores.pinball_by_cases == pytest.approx(sum(losses) / 12)
    assert scores.pinball_by_instants == pytest.approx((losses[0] + sum(losses[1:]) / 3) / 6)
    assert (scores.median_error, scores.width, scores.points) == (50.0, 150.0, 0.0)
    # Of two instants drawn with replacement, half the pairs have both: 3 of 4; the others 1 of 1, and 2 of 3.
    [(*facts, error)] = coverage_by_class(forecast, cases)
    assert facts == ["10 min", 4, 2, 0.75]
    assert error == pytest.approx(np.std([1, 2 / 3, 0.75, 0.75]), rel=0.15)
    assert classes_of(np.array([0.0, 600.0, 1e9])).tolist() == [0, 1, 5]


def test_adjustments_make_past_forecasts_calibrated() -> None:
    """Forecasts that are too narrow by a factor cover 80 % of new cases afterwards."""
    rng = np.random.default_rng(1)
    spread = np.asarray(stats.norm.ppf(LEVELS))[:, None]

    def drawn(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        middle = rng.uniform(7, 10, count)
        return np.exp(middle + 0.2 * spread) - 60, np.exp(middle + 0.5 * rng.normal(size=count)) - 60

    forecast, outcome = drawn(4000)
    adjustment = Adjustment.fit(forecast, outcome, np.arange(4000), LEVELS, median=MEDIAN)
    forecast, outcome = drawn(4000)
    cases = Cases(np.arange(4000), np.arange(4000), outcome)
    assert Scores.of(forecast, cases).coverage[80] < 0.45
    assert Scores.of(adjustment.apply(forecast), cases).coverage[80] == pytest.approx(0.8, abs=0.03)


def test_the_choice_is_calibrated_in_each_block_of_time() -> None:
    """One candidate covers too little and too much by turns; one drifts, and no adjustment helps it."""
    rng = np.random.default_rng(4)
    instant = np.repeat(np.arange(500), 20)
    block = instant // 100
    middle = np.exp(rng.uniform(7, 10, len(instant)))
    factor = np.exp(0.5 * rng.normal(size=len(instant)))
    outcome = middle * factor
    normal = np.asarray(stats.norm.ppf(LEVELS))[:, None]
    spread = np.where(block % 2, 0.5 * 0.657, 2.5)

    def shifted(shift: np.ndarray[Any, Any], spread: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(middle * np.exp(shift + normal * spread))

    none, half = np.zeros(len(instant)), np.full(len(instant), 0.5)
    candidates: dict[str, np.ndarray[Any, Any]] = {
        "user_request, 1, none": shifted(none, spread),
        "user_request, 1, week": shifted(0.6 * block - 1.2, half),
        "user, 1, none": shifted(none, half),
    }
    cases = Cases(instant, np.arange(len(instant)), outcome)
    forecasts = _Forecasts(cases, np.empty((0, len(instant))), candidates)
    methods: list[Method] = [
        ("user_request", 1.0, "none"),
        ("user_request", 1.0, "week"),
        ("user", 1.0, "none"),
    ]
    assert forecasts.choose(methods)[0] == methods[2]
    # Too narrow by the same factor in every block: adjusted, it covers 80 %.
    narrow = _Forecasts(cases, forecasts.features, {"user, 1, none": shifted(none, 0.4 * half)})
    assert narrow.choose(methods[2:]) == (methods[2], True)
    few = _Forecasts(cases.part(instant < 3), forecasts.features, candidates)
    assert few.choose(methods) == (methods[0], False)


def test_boosted_trees_learn_waits() -> None:
    """The wait is a third to all of the plan: quantiles are in between, ascend, and cover."""
    pytest.importorskip("sklearn", exc_type=ImportError)
    rng = np.random.default_rng(5)

    def drawn(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        plan = rng.uniform(1_000, 50_000, count)
        return np.stack([plan, rng.uniform(size=count)]), plan * rng.uniform(0.3, 1.0, count)

    model = BoostedWaits.fit(*drawn(2000), (0.1, 0.5, 0.9))
    features, outcome = drawn(1000)
    found = model.quantiles(features)
    assert (np.diff(found, axis=0) >= 0).all()
    inside = (found[0] <= outcome) & (outcome <= found[2])
    assert inside.mean() == pytest.approx(0.8, abs=0.08)


def test_intervals_of_quantiles_by_hand() -> None:
    """100 samples: the median lies between the 40th and the 61st; the 1 % quantile needs more samples."""
    starts = np.column_stack([np.arange(100.0), np.full(100, np.inf)])
    found = interval_of_quantiles(starts, (0.01, 0.5))
    assert found.tolist() == [[np.inf, np.inf], [10.5, 0.0]]


def test_binomial_bounds() -> None:
    """The 95/95 bound needs 59 waits; below the median bounds are from below."""
    waits = [float(each) for each in range(1, 60)]
    assert bound(waits, 0.95) == 59.0
    assert bound([*waits, 60.0], 0.5) == 30.0
    low = int(bound(waits, 0.1))
    assert stats.binom.cdf(low - 1, 59, 0.1) <= 0.05 < stats.binom.cdf(low, 59, 0.1)
    assert bound([], 0.5) == 0.0


def test_histories_know_what_has_started() -> None:
    """Waits of jobs that started by the instant, given the time waited; misses cut a history."""
    count = 100
    submit = np.arange(count, dtype=float)
    wait = np.where(submit < 90, 10.0, 1000.0 * (submit - 89))
    start = submit + wait
    order, classes = np.argsort(start, kind="stable"), np.zeros(count, np.int64)
    history = WaitHistory(classes, submit, start, order)
    # At 100.5 all 90 waits of 10 s are known; the job has waited for 5.5 s.
    assert history.quantiles(100.5, np.array([95]), (0.5,))[0, 0] == 4.5
    # It has waited longer than any job that has started.
    assert history.quantiles(150.0, np.array([95]), (0.5,))[0, 0] == 55.0
    bounds = WaitBounds(classes, submit, start, order)
    assert bounds.quantiles(100.5, np.array([95]), (0.95,))[0, 0] == 4.5
    assert bounds.quantiles(20_000.0, np.array([95]), (0.95,))[0, 0] == 0.0
    assert len(bounds._recent[0]) < count  # noqa: SLF001  # three misses in a row
    assert queue_lengths(submit, start, np.array([0.0, 50.0, 2000.0])).tolist() == [1, 10, 9]
