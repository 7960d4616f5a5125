"""Arrival processes: their rates, their cycles, the same for the same seed; and what they refuse."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import batchlab as bl
from batchlab import queueing

PROCESSES: dict[str, queueing.ArrivalProcess] = {
    "renewal": queueing.renewal(stats.gamma(2.0, scale=30.0)),
    "mmpp": queueing.mmpp([0.1, 0.0, 0.01], [[0, 0.001, 0], [0, 0, 0.002], [0.001, 0.001, 0]]),
    "daily_cycle": queueing.daily_cycle(0.02, [0.0] * 8 + [2.0] * 8 + [1.0] * 8),
    "from_log": queueing.from_log([3.0, 5.0, 5.0, 11.0], random_start=True),
}


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
def test_samples(process: queueing.ArrivalProcess) -> None:
    """Ascending finite times, as many as asked for; the same for the same seed, others for another."""
    first = process.sample(2001, np.random.default_rng(1))
    assert first.shape == (2001,)
    assert (np.diff(first) >= 0).all()
    assert first[0] >= 0
    assert np.isfinite(first).all()
    assert np.array_equal(first, process.sample(2001, np.random.default_rng(1)))
    others = [process.sample(2001, np.random.default_rng(seed)) for seed in range(2, 9)]
    assert not all(np.array_equal(first, other) for other in others)
    assert process.sample(0, np.random.default_rng(1)).shape == (0,)
    assert isinstance(process, queueing.ArrivalProcess)


def test_renewal_has_the_distribution() -> None:
    """Times between arrivals pass for the distribution's (Kolmogorov-Smirnov)."""
    gaps = np.diff(PROCESSES["renewal"].sample(5001, np.random.default_rng(2)))
    assert stats.kstest(gaps, stats.gamma(2.0, scale=30.0).cdf).pvalue > 0.01


def test_mmpp_of_one_rate_is_poisson() -> None:
    """With equal rates the state does not show; the times between arrivals are exponential."""
    process = queueing.mmpp([0.5, 0.5], [[0, 3.0], [0.1, 0]])
    gaps = np.diff(process.sample(5001, np.random.default_rng(3)), prepend=0.0)
    assert stats.kstest(gaps, stats.expon(scale=2.0).cdf).pvalue > 0.01
    poisson = queueing.mmpp([0.5], [[0]])
    assert (
        stats.kstest(
            np.diff(poisson.sample(5001, np.random.default_rng(4))), stats.expon(scale=2.0).cdf
        ).pvalue
        > 0.01
    )


def test_mmpp_has_its_mean_rate_and_bursts() -> None:
    """The mean rate is that of the stationary chain, within 99 %; counts vary more than Poisson's."""
    process = queueing.mmpp([1.0, 0.1], [[0, 0.02], [0.01, 0]])
    assert process.mean_rate == pytest.approx(1 / 3 + 0.2 / 3)
    assert process.stationary.tolist() == pytest.approx([1 / 3, 2 / 3])
    random = np.random.default_rng(5)
    length = 2000.0
    counts = np.array([np.searchsorted(process.sample(4000, random), length) for _ in range(200)])
    assert process.mean_rate in queueing.interval(counts / length, confidence=0.99)
    assert counts.var() > 5 * counts.mean()


def test_the_daily_cycle_has_its_profile() -> None:
    """Counts in the parts of the day follow the profile (chi-squared), none where it is 0."""
    process = queueing.daily_cycle(0.02, [0.0] * 8 + [2.0] * 8 + [1.0] * 8)
    assert process.mean_rate == pytest.approx(0.02)
    times = process.sample(24_000, np.random.default_rng(6))
    days = times[-1] // 86_400
    hours = times[times < 86_400 * days] % 86_400 // 3600
    counts = np.bincount(hours.astype(int), minlength=24)
    assert counts[:8].sum() == 0
    assert stats.chisquare(counts[8:], len(hours) * np.array([2.0] * 8 + [1.0] * 8) / 24).pvalue > 0.01
    assert len(hours) / days == pytest.approx(0.02 * 86_400, rel=0.02)


def test_arrivals_of_a_log() -> None:
    """The first ones as they are, from 0 on; or from a job by chance, round the log."""
    workload = bl.Workload.from_table(
        {"submit_time": [10, 12, 20], "run_time": [1, 1, 1], "tasks": [1, 1, 1]}
    )
    random = np.random.default_rng(7)
    assert queueing.from_log(workload).sample(2, random).tolist() == [0, 2]
    turning = queueing.from_log(workload, random_start=True)
    found = {tuple(turning.sample(4, random).tolist()) for _ in range(60)}
    # Between the last and the first job of the next turn, the mean of 5 s.
    assert found == {(0, 2, 10, 15), (0, 8, 13, 15), (0, 5, 7, 15)}


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: queueing.renewal(3.0), "distribution = 3.0; must be the spec of one, as 'expon"),  # type: ignore[arg-type]
        (
            lambda: queueing.renewal(stats.norm(0, 1)).sample(99, np.random.default_rng(1)),
            "must be finite and >= 0",
        ),
        (lambda: queueing.mmpp([0.0, 0.0], [[0, 1], [1, 0]]), "at least one must be above 0"),
        (
            lambda: queueing.mmpp([1.0, -1.0], [[0, 1], [1, 0]]),
            r"rates\[1\] = -1.0; must be a finite number >= 0",
        ),
        (lambda: queueing.mmpp([1.0, 2.0], [[0, 1]]), "must have 2 rows and columns, as rates"),
        (lambda: queueing.mmpp([1.0, 2.0], [[0, 1], [0, 0]]), "no way leads from state 1 to 0"),
        (lambda: queueing.daily_cycle(0.0, [1.0]), "base = 0.0; must be a finite number > 0"),
        (lambda: queueing.daily_cycle(1.0, []), "at least one part must be above 0"),
        (
            lambda: queueing.daily_cycle(1.0, [1.0, np.nan]),
            r"profile\[1\] = nan; must be a finite number >= 0",
        ),
        (lambda: queueing.from_log([]), "workload has no job"),
        (lambda: queueing.from_log([1.0, 0.0]), "row 1 comes at 0 s; must be finite and ascending"),
        (
            lambda: queueing.from_log([1.0]).sample(2, np.random.default_rng(1)),
            "n = 2; must not exceed the 1 job of the log. Pass random_start=True",
        ),
        (
            lambda: PROCESSES["mmpp"].sample(-1, np.random.default_rng(1)),
            "n = -1; must be a whole number from 0",
        ),
    ],
)
def test_what_is_refused(refused: Callable[[], object], message: str) -> None:
    """Errors name the argument, the value, the rule and the next step."""
    with pytest.raises(bl.QueueingError, match=message):
        refused()
