"""The model of Tsafrir et al.; the numbers here are those of est_model.cc."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import estimate_distribution
from batchlab.generate.tsafrir05 import _RANKS, _head_shares, _head_times, _replaced

HOUR = 3600
DAY = 24 * HOUR
JOINT = {300, 600, 900, 1200, 1800, *(hours * HOUR for hours in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18))}


@pytest.fixture(scope="module")
def day() -> dict[int, int]:
    """Give the estimates of 100,000 jobs that may ask for up to a day."""
    return estimate_distribution(100_000, DAY, seed=3)


def test_every_column_of_the_table_of_ranks_is_complete() -> None:
    """Each log ranks all 20 times."""
    for column in zip(*_RANKS, strict=True):
        assert sorted(column) == list(range(1, 21))


def test_head_times() -> None:
    """The longest, the 15 that all logs share, and round ones: of a day four are left to add."""
    times = _head_times(DAY)
    assert times[0] == DAY
    assert times[1:] == sorted(times[1:])
    assert len(set(times)) == 20
    assert set(times) >= JOINT
    # Multiples of 10 h, then of 5 h, then of 2 h, each from above.
    assert set(times) - JOINT - {DAY} == {20 * HOUR, 15 * HOUR, 22 * HOUR, 16 * HOUR}


def test_head_shares() -> None:
    """14.0491 exp(-0.177531 x) + 0.462513 percent, and the longest estimate what is missing of 89 %."""
    shares, fixed = _head_shares(DAY, {})
    assert fixed == {}
    assert shares[1] == pytest.approx(0.10312, abs=1e-4)
    assert shares[19] == pytest.approx(0.0086586, abs=1e-6)
    ratio = np.exp(-0.177531)
    others = 0.140491 * ratio**2 * (1 - ratio**19) / (1 - ratio) + 19 * 0.00462513
    assert shares[0] == pytest.approx(0.89 - others)
    assert sum(shares) == pytest.approx(0.89)


def test_totals(day: dict[int, int]) -> None:
    """As many estimates as jobs, 89 % of them in the head, the longest used most, and 385 different ones."""
    assert sum(day.values()) == 100_000
    head = sum(sorted(day.values(), reverse=True)[:20])
    assert head == pytest.approx(89_000, abs=20)
    assert max(day, key=lambda time: day[time]) == DAY == max(day)
    assert 0.95 * 377.5 <= len(day) <= 378


def test_tail_times(day: dict[int, int]) -> None:
    """Half of the tail is below the time that the formula gives the middle rank."""
    tail = sorted(set(day) - set(_head_times(DAY)))
    bend = 1 + 12.1039 * 377.5**-0.6026
    middle = (bend - 1) * 0.5 / (bend - 0.5) * DAY
    assert np.median(tail) == pytest.approx(middle, rel=0.05)


def test_tail_shares(day: dict[int, int]) -> None:
    """They fall as the rank to the power of -2.267, from the 21st on, and make 11 %."""
    tail = sorted((count for time, count in day.items() if time not in _head_times(DAY)), reverse=True)
    ranks = np.arange(21, 21 + len(tail)) ** -2.267
    assert tail[0] == pytest.approx(11_000 * ranks[0] / ranks.sum(), abs=2)
    assert tail[99] == pytest.approx(11_000 * ranks[99] / ranks.sum(), abs=2)


@settings(max_examples=60, deadline=None)
@given(
    jobs=st.integers(1, 5000),
    longest=st.integers(6000, 10**7),
    popular=st.dictionaries(st.integers(1, 6000), st.floats(0, 0.05), max_size=19),
    seed=st.integers(0, 10**6),
)
def test_known_shares_are_kept(jobs: int, longest: int, popular: dict[float, float], seed: int) -> None:
    """Totals are right, no estimate is too long, and what is known to be popular is as popular."""
    counts = estimate_distribution(jobs, longest, popular=popular, seed=seed)
    assert sum(counts.values()) == jobs
    assert 0 < min(counts) <= max(counts) <= longest
    if jobs >= 1000:
        for time, share in popular.items():
            assert abs(counts.get(int(time), 0) - share * jobs) <= 1.01


def test_known_times_replace_the_nearest() -> None:
    """Round ones first, and none that is known itself: 21 hours take the place of 20, or else of 16."""
    times = set(_head_times(DAY))
    assert times ^ set(_replaced([*_head_times(DAY)], {21 * HOUR: 0.1})) == {21 * HOUR, 20 * HOUR}
    known = {20 * HOUR: 0.1, 21 * HOUR: 0.1, 22 * HOUR: 0.1}
    assert times ^ set(_replaced([*_head_times(DAY)], known)) == {21 * HOUR, 16 * HOUR}


def test_assignment() -> None:
    """No job outruns its estimate, only the requested times change, and the seed decides."""
    made = bl.generate.lublin(5000, nodes=64, seed=2)
    one, same, other = (bl.generate.estimates(made, seed=seed) for seed in (1, 1, 2))
    assert (one.jobs["requested_time"] >= one.jobs["run_time"]).all()
    assert one.jobs.drop("requested_time").equals(made.jobs.drop("requested_time"))
    assert one.jobs.equals(same.jobs)
    assert not one.jobs.equals(other.jobs)


def test_short_jobs_ask_for_anything() -> None:
    """Jobs of no time at all get every estimate with its share, whatever their place."""
    table = {"submit_time": range(20_000), "run_time": [1.0] * 20_000, "tasks": [1] * 20_000}
    made = bl.generate.estimates(bl.Workload.from_table(table), longest=DAY, seed=1).jobs["requested_time"]
    counts = estimate_distribution(20_000, DAY, seed=1)
    values, found = np.unique(made.to_numpy(), return_counts=True)
    assert dict(zip(values.tolist(), found.tolist(), strict=True)) == counts
    halves = [float((part == DAY).mean()) for part in (made[:10_000], made[10_000:])]  # type: ignore[arg-type]
    assert halves[0] == pytest.approx(halves[1], abs=0.02)


def test_the_longest_is_found() -> None:
    """By default it covers the longest run, and there are enough long ones."""
    table = {"submit_time": range(100), "run_time": [50_000.0] * 100, "tasks": [1] * 100}
    made = bl.generate.estimates(bl.Workload.from_table(table), popular={54_000: 1.0})
    assert set(made.jobs["requested_time"]) == {54_000.0}
    assert len(bl.generate.estimates(made.head(0))) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"longest": 60}, "longest = 60; must be from 6000 s"),
        ({"longest": DAY, "popular": {2 * DAY: 0.1}}, "estimates must be from 1 s to longest"),
        ({"longest": DAY, "popular": {300: 1.5}}, "shares must be from 0 to 1"),
        ({"longest": DAY, "popular": dict.fromkeys(range(1, 21), 0.0)}, "at most 19, or 20 with the longest"),
        ({"longest": 7200}, "each job needs an estimate that it does not outrun"),
    ],
    ids=["short", "beyond", "too many jobs", "too many times", "outrun"],
)
def test_wrong_arguments_are_told(given: dict[str, object], said: str) -> None:
    """By their names, with what to do."""
    made = bl.generate.lublin(500, seed=2)
    with pytest.raises(WorkloadError, match=said):
        bl.generate.estimates(made, **given)  # type: ignore[arg-type]
