"""Run times drawn from what is known at one instant (S30)."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import batchlab as bl
from batchlab.forecast.draws import JobKinds, Known, ShareCurve, ShareForest, draw_run_times, uniforms

NAN = np.nan
COMPLETED, RUNNING, QUEUED = 3, 2, 1


def kinds_of(users: list[str | None], tasks: list[int], limits: list[float]) -> JobKinds:
    """Give the kinds of a small workload."""
    zeros = [0.0] * len(users)
    table = {"submit_time": zeros, "run_time": zeros, "requested_time": limits, "tasks": tasks, "user": users}
    return JobKinds.of(bl.Workload.from_table(table))


def test_kaplan_meier_by_hand() -> None:
    """Shares 0.2, 0.4+, 0.5, 0.5, 0.8+ (+: runs): S is 4/5, after 0.5 it is 4/5 · 2/3 · 1/2."""
    share = np.array([0.5, 0.2, 0.8, 0.4, 0.5])
    curve = ShareCurve.of(share, is_end=np.array([True, True, False, False, True]))
    np.testing.assert_array_equal(curve.share, [0.2, 0.5, 1.0])
    np.testing.assert_allclose(curve.cumulative, [1 / 5, 1 - 4 / 15, 1.0])
    uniform = np.array([0.0, 0.19, 0.21, 0.73, 0.74])
    np.testing.assert_array_equal(curve.quantiles(uniform, 0.0), [0.2, 0.2, 0.5, 0.5, 1.0])
    # Given more than 0.2: P(0.5) = (11/15 - 1/5) / (4/5) = 2/3.
    np.testing.assert_array_equal(curve.quantiles(np.array([0.0, 0.66, 0.67]), 0.2), [0.5, 0.5, 1.0])
    np.testing.assert_array_equal(curve.quantiles(np.array([0.0, 0.9]), 0.7), [1.0, 1.0])


def test_draws_stay_between_elapsed_and_limit() -> None:
    """Also for a job that has just started, is at its limit, or has outlasted it."""
    kinds = kinds_of([None] * 5, [1] * 5, [100.0, 100.0, 100.0, 100.0, 0.0])
    known = Known(50.0, np.full(5, QUEUED), np.full(5, NAN), np.full(5, NAN))
    elapsed = np.array([0.0, 99.999, 100.0, 120.0, 0.0])
    uniform = np.linspace(0, 1, 11, endpoint=False)[:, None].repeat(5, axis=1)
    total = draw_run_times("user", kinds, known, np.arange(5), elapsed=elapsed, uniform=uniform)
    assert (total[:, 1:4] > elapsed[1:4]).all()
    assert (total[:, :2] <= 100.0).all()
    assert (total[:, 3] <= 130.0).all()
    assert (total[:, 4] == 0.0).all()
    # Without history every share is as likely.
    np.testing.assert_allclose(total[:, 0], 100 * uniform[:, 0])


def test_the_narrowest_kind_with_enough_jobs() -> None:
    """Ten of the user's jobs with the same tasks and limit, or twenty of the user, or the size class."""
    users: list[str | None] = [*("a" * 20), *("b" * 20), "a", "c"]
    tasks = [4] * 10 + [5] * 10 + [6] * 20 + [4, 4]
    kinds = kinds_of(users, tasks, [100.0] * len(users))
    state = np.full(len(users), COMPLETED)
    state[-2:] = QUEUED
    ran = np.array([10.0] * 10 + [20.0] * 10 + [30.0] * 20 + [NAN, NAN])
    start = np.where(np.isnan(ran), NAN, 0.0)
    known = Known(1000.0, state, start, ran)
    rows, elapsed = np.array([40, 41]), np.zeros(2)
    uniform = np.full((1, 2), 0.45)

    def drawn(method: object) -> list[float]:
        found = draw_run_times(
            method,  # type: ignore[arg-type]  # words of the test
            kinds,
            known,
            rows,
            elapsed=elapsed,
            uniform=uniform,
        )
        return [float(each) for each in found[0]]

    assert drawn("user_request") == pytest.approx([10.0, 20.0])
    assert drawn("user") == pytest.approx([10.0, 20.0])
    assert drawn("class") == pytest.approx([20.0, 20.0])
    assert drawn("limits") == [100.0, 100.0]


def test_a_long_run_is_drawn_from_a_kind_with_ten_longer_ones() -> None:
    """Ten of a's jobs ran longer than 15 s, nine longer than 25 s; of all jobs of the size, others too."""
    users: list[str | None] = [*("a" * 30), *("b" * 10), "a"]
    kinds = kinds_of(users, [4] * 41, [100.0] * 41)
    ran = np.array([10.0] * 20 + [20.0] + [30.0] * 9 + [80.0] * 10 + [NAN])
    state = np.array([COMPLETED] * 40 + [RUNNING])
    start = np.append(np.zeros(40), 1000.0)
    uniform = np.full((1, 1), 0.9)

    def drawn(elapsed: float) -> float:
        known = Known(1000.0 + elapsed, state, start, ran)
        found = draw_run_times(
            "user", kinds, known, np.array([40]), elapsed=np.array([elapsed]), uniform=uniform
        )
        return float(found[0, 0])

    assert drawn(15.0) == pytest.approx(30.0)
    assert drawn(25.0) == pytest.approx(80.0)


def test_a_job_without_limit_is_refused() -> None:
    """Shares of a limit need one."""
    kinds = kinds_of(["a"], [1], [float("inf")])
    known = Known(0.0, np.array([QUEUED]), np.array([NAN]), np.array([NAN]))
    with pytest.raises(bl.SimulationError, match="job 1 has no time limit"):
        draw_run_times("user", kinds, known, np.array([0]), elapsed=np.zeros(1), uniform=np.zeros((1, 1)))


def test_uniforms_are_common_to_a_user_and_to_all_forecasts() -> None:
    """They depend on seed, job and user only; a share of a user's jobs has its own."""
    kinds = kinds_of(["a", "a", "b", None], [1] * 4, [9.0] * 4)
    rows = np.arange(4)
    shared = uniforms(3, kinds, rows, 500, 1.0)
    np.testing.assert_array_equal(shared[:, 0], shared[:, 1])
    assert not np.array_equal(shared[:, 0], shared[:, 2])
    np.testing.assert_array_equal(uniforms(3, kinds, rows[1:3], 500, 1.0), shared[:, 1:3])
    assert not np.array_equal(uniforms(4, kinds, rows, 500, 1.0), shared)
    mixed = uniforms(3, kinds, rows, 500, 0.8)
    assert (mixed[:, 0] == shared[:, 0]).mean() == pytest.approx(0.8, abs=0.06)
    alone = uniforms(3, kinds, rows, 500, 0.0)
    assert abs(np.corrcoef(alone[:, 0], alone[:, 1])[0, 1]) < 0.15


def test_a_forest_tells_users_apart() -> None:
    """It learns from jobs that started longer ago than their limits, and each user has its own shares."""
    pytest.importorskip("sklearn", exc_type=ImportError)
    rng = np.random.default_rng(6)
    count = 400
    who = rng.integers(0, 2, count)
    kinds = kinds_of(["ab"[each] for each in who], [2] * count, [100.0] * count)
    state, start = np.full(count, COMPLETED), np.floor(np.linspace(0, 10_000, count))
    end = start + np.where(who == 0, rng.uniform(5, 15, count), rng.uniform(70, 90, count))
    state[-10:], start[-10:], end[-10:] = QUEUED, NAN, NAN
    # Its run is not over by its limit: it is not learnt from.
    state[-11], end[-11] = RUNNING, NAN
    known, rows = Known(float(start[-11]) + 1.0, state, start, end), np.arange(count - 10, count)
    forest = ShareForest.fit(kinds, known)
    assert (start[: len(forest.share)] + 100 <= known.at).all()
    assert len(forest.share) == int((start + 100 <= known.at).sum())
    uniform = rng.uniform(size=(50, 10))
    total = draw_run_times("forest", kinds, known, rows, elapsed=np.zeros(10), uniform=uniform)
    first = who[-10:] == 0
    assert (total[:, first] <= 15).mean() > 0.97
    assert (total[:, ~first] >= 70).mean() > 0.97
    again = draw_run_times("forest", kinds, known, rows, elapsed=np.zeros(10), uniform=uniform, forest=forest)
    np.testing.assert_array_equal(again, total)


def test_a_forest_without_jobs_is_the_history() -> None:
    """With too few jobs to learn from, shares are drawn as by user and request."""
    pytest.importorskip("sklearn", exc_type=ImportError)
    kinds = kinds_of(["a"] * 12, [1] * 12, [100.0] * 12)
    state, start, end = np.full(12, COMPLETED), np.zeros(12), np.full(12, 30.0)
    state[-1], start[-1], end[-1] = QUEUED, NAN, NAN
    known, rows = Known(40.0, state, start, end), np.array([11])
    uniform = np.array([[0.2], [0.9]])
    found = draw_run_times("forest", kinds, known, rows, elapsed=np.zeros(1), uniform=uniform)
    assert found.ravel().tolist() == [30.0, 30.0]


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    kinds = kinds_of(["a"], [1], [100.0])
    known = Known(0.0, np.array([QUEUED]), np.array([NAN]), np.array([NAN]))
    with pytest.raises(bl.BatchlabError, match="scikit-learn>="):
        ShareForest.fit(kinds, known)
