"""The bootstrap of blocks of time: what is drawn, and how often its intervals hold the true value."""

from collections.abc import Callable

import numpy as np
import pytest

from batchlab.errors import QueueingError
from batchlab.queueing import block_bootstrap, block_counts, usual_block

DAY = 86_400.0


def mean_of(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Give the mean as a function of counts."""
    return lambda counts: np.array([values @ counts / counts.sum()])


def dependent(count: int, chance: np.random.Generator) -> np.ndarray:
    """Make a series of mean 0 in which each value is near the one before it."""
    values = np.empty(count)
    values[0] = chance.normal()
    for place, noise in enumerate(chance.normal(size=count - 1) * np.sqrt(1 - 0.9**2), 1):
        values[place] = 0.9 * values[place - 1] + noise
    return values


def coverage(block: float) -> float:
    """Tell how often intervals for the mean of a dependent series hold 0."""
    chance = np.random.default_rng(5)
    times = np.arange(1000.0)
    held = 0
    for seed in range(60):
        found = block_bootstrap(
            times, mean_of(dependent(1000, chance)), block=block, resamples=100, seed=seed
        )
        held += int(found.low[0] <= 0 <= found.high[0])
    return held / 60


def test_intervals_hold_the_mean_of_a_dependent_series() -> None:
    """Blocks much longer than the dependence keep nearly to the level; single values do not."""
    assert coverage(80.0) >= 0.85
    assert coverage(1.0) <= 0.5


def test_blocks_are_of_neighbours() -> None:
    """What is drawn are whole blocks that cover the period, and each job is drawn as often as others."""
    times = np.arange(100.0)
    total = np.zeros(100)
    for counts in block_counts(times, 25.0, 2000, seed=1):
        assert counts.sum() == 100
        # Four blocks have at most eight ends.
        assert np.count_nonzero(np.diff(counts)) <= 8
        total += counts
    assert abs(total / 2000 - 1).max() < 0.12


def test_times_in_any_order() -> None:
    """Counts belong to the jobs, whatever their order."""
    times = np.array([5.0, 0.0, 9.0, 3.0, 1.0])
    order = np.argsort(times)
    for mixed, sorted_ in zip(
        block_counts(times, 3.0, 20, seed=2), block_counts(times[order], 3.0, 20, seed=2), strict=True
    ):
        assert (mixed[order] == sorted_).all()


def test_differences_are_paired() -> None:
    """The same blocks serve all alternatives: what is always 1 s more is 1 s more in each resample."""
    chance = np.random.default_rng(3)
    waits = chance.exponential(100.0, 500)

    def both(counts: np.ndarray) -> np.ndarray:
        one, other = (values @ counts / counts.sum() for values in (waits, waits + 1))
        return np.array([one, other - one])

    found = block_bootstrap(np.sort(chance.random(500)) * 10 * DAY, both, seed=4)
    assert found.high[0] - found.low[0] > 5
    assert (found.low[1], found.high[1]) == pytest.approx((1, 1))
    assert found.block == pytest.approx(DAY, rel=0.05)


def test_same_seed_same_intervals() -> None:
    """Draws come from the seed alone."""
    values = np.random.default_rng(1).random(50)
    one, same, other = (
        block_bootstrap(np.arange(50.0), mean_of(values), block=5, seed=seed).low[0] for seed in (1, 1, 2)
    )
    assert one == same != other


def test_what_no_resample_has() -> None:
    """A statistic that is never defined has no interval; one that often is has that of the others."""
    values = np.arange(20.0)

    def odd(counts: np.ndarray) -> np.ndarray:
        return np.array([np.nan, values @ counts / counts.sum() if counts[0] else np.nan])

    found = block_bootstrap(np.arange(20.0), odd, block=4, seed=0)
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert found.low[1] < 9.5 < found.high[1] or found.high[1] < 9.5


def test_usual_blocks() -> None:
    """A day, or a tenth of a short period."""
    assert usual_block(np.array([0.0, 30 * DAY])) == DAY
    assert usual_block(np.arange(101.0)) == pytest.approx(10.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [1.0]}, "times: 1 jobs at one time or none"),
        ({"times": [1.0, 1.0]}, "blocks of time need jobs at several times"),
        ({"block": 0}, "block = 0; must be a finite number > 0"),
        ({"resamples": 1}, "resamples = 1; must be a whole number from 2"),
        ({"confidence": 1}, "confidence = 1; must be a number > 0 and < 1"),
    ],
)
def test_refusals(arguments: dict[str, object], message: str) -> None:
    """Each rule names the value."""
    with pytest.raises(QueueingError, match=message):
        block_bootstrap(**{"times": [0.0, 1.0], "statistic": mean_of(np.ones(2)), **arguments})  # type: ignore[arg-type]
