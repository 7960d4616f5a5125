"""Replications: seeds, warm-up, intervals, stopping; models of either kind."""

import threading
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab import queueing
from batchlab.queueing import ensemble, mser5
from batchlab.queueing.output_analysis import replicate


def normal(rng: np.random.Generator) -> np.ndarray:
    """Independent numbers around 5."""
    return rng.normal(5.0, 1.0, 400)


def waits(rng: np.random.Generator, rate: float = 0.5) -> np.ndarray:
    """Give waits in a queue M/M/1, each kind of chance from a stream of its own."""
    arrivals, services = rng.spawn(2)
    arrival = np.cumsum(arrivals.exponential(1 / rate, 5000))
    return queueing.delays(arrival, services.exponential(1.0, 5000), servers=1, c=1)


def test_numbers_do_not_depend_on_threads() -> None:
    """The same seed gives the same means on one thread and on four."""
    one, four = (ensemble(waits, 6, seed=3, threads=threads) for threads in (1, 4))
    assert one["value"].means.tolist() == four["value"].means.tolist()
    other = ensemble(waits, 6, seed=4)
    assert not set(one["value"].means) & set(other["value"].means)


def test_replications_run_at_once() -> None:
    """As many threads as asked for are inside the model together."""
    together = threading.Barrier(3, timeout=60)

    def meeting(rng: np.random.Generator) -> np.ndarray:
        together.wait()
        return rng.normal(size=10)

    assert ensemble(meeting, 3, threads=3).replications == 3


def test_random_numbers_are_common() -> None:
    """A replication has the same generator whatever the model, so that differences are much more precise."""
    seen: list[float] = []

    def slow(rng: np.random.Generator) -> np.ndarray:
        seen.append(rng.bit_generator.seed_seq.spawn_key[0])  # type: ignore[attr-defined]  # of SeedSequence
        return waits(rng, 0.55)

    low, high = ensemble(waits, 20, seed=2), ensemble(slow, 20, seed=2, threads=1)
    assert seen == [*range(20)]
    difference = high.difference(low)
    assert difference.mean == pytest.approx(high.mean - low.mean)
    assert difference.low > 0
    assert difference.half_width < 0.7 * (low.interval.half_width**2 + high.interval.half_width**2) ** 0.5


def test_intervals() -> None:
    """By replication and by batches, both of Student's t; here of independent numbers, so that both agree."""
    found = ensemble(normal, 12, warm_up=0, batches=10, confidence=0.9)["value"]
    assert found.by_replication == queueing.interval(found.means, 0.9)
    assert found.by_replication.count == 12
    assert found.by_batches is not None
    assert found.by_batches.count == 120
    assert found.by_batches.mean == pytest.approx(found.mean)
    assert found.by_batches.half_width == pytest.approx(found.by_replication.half_width, rel=0.5)


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """Of 300 intervals of 90 %, those without the mean are as many as expected, within five deviations."""
    missed = sum(
        5.0 not in ensemble(normal, 5, seed=seed, threads=1, confidence=0.9).interval for seed in range(300)
    )
    assert 30 - 5 * 27**0.5 < missed < 30 + 5 * 27**0.5


def test_the_warm_up_is_left_out() -> None:
    """What is found, a number, or a share of the observations."""

    def warming(rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([np.full(100, 50.0), normal(rng)])

    assert ensemble(warming, 5, warm_up=100)["value"].warm_up == (100,) * 5
    assert ensemble(warming, 5, warm_up=0.2)["value"].warm_up == (100,) * 5
    assert ensemble(warming, 5, warm_up=0).mean > 8
    found = ensemble(warming, 5, seed=1, confidence=0.99)
    assert all(100 <= left_out <= 150 for left_out in found["value"].warm_up)
    assert 5.0 in found.interval


def test_mser5_by_hand() -> None:
    """The least standard error of means of five, at most half of them left out."""
    series = np.repeat([9.0, 1.0, 2.0, 1.0, 2.0, 1.0], 5)
    statistics = [
        np.sum((rest - rest.mean()) ** 2) / len(rest) ** 2 for rest in (series[5 * d :: 5] for d in range(4))
    ]
    assert mser5(series) == 5 * int(np.argmin(statistics)) == 5
    assert mser5(np.arange(100.0)[::-1]) == 50
    assert mser5(np.full(40, 3.0)) == 0
    assert mser5([1.0, 2.0]) == 0
    assert mser5(series + 1e9) == 5


def test_replications_stop_at_a_precision() -> None:
    """They stop with the first that reaches it, whatever the threads; or at the greatest number."""
    found = ensemble(waits, 5, seed=5, relative_precision=0.05, threads=3)
    assert found.precise
    assert found.interval.relative_precision <= 0.05
    assert found.replications > 5
    before = found["value"].means[:-1]
    assert queueing.interval(before).relative_precision > 0.05
    assert (
        found["value"].means.tolist() == ensemble(waits, found.replications, seed=5)["value"].means.tolist()
    )
    limited = ensemble(waits, 5, seed=5, relative_precision=1e-6, most_replications=8)
    assert not limited.precise
    assert limited.replications == 8


def test_a_simulation_as_model() -> None:
    """A mapping of columns of a result; both waits and slowdowns have their intervals."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})

    def simulated(rng: np.random.Generator) -> dict[str, pl.Series]:
        arrival = queueing.mmpp([0.05, 0.005], [[0, 1e-3], [1e-3, 0]]).sample(300, rng)
        workload = queueing.to_workload(arrival, rng.exponential(40.0, 300) + 1, rng.integers(1, 5, 300))
        jobs = bl.simulate(workload, system, "easy").jobs
        return {
            "wait": jobs["start_time"] - jobs["submit_time"],
            "turnaround": jobs["end_time"] - jobs["submit_time"],
        }

    found = ensemble(simulated, 4, seed=6, warm_up=50)
    assert [*found.measures] == ["wait", "turnaround"]
    assert found["turnaround"].mean - found["wait"].mean == pytest.approx(41, rel=0.2)
    with pytest.raises(bl.QueueingError, match=r"there are several series: wait, turnaround. Choose one"):
        found.interval  # noqa: B018  # that is the test
    with pytest.raises(bl.QueueingError, match=r"no series 'wat'. Did you mean 'wait'\?"):
        found["wat"]


def test_progress_is_shown_where_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed unless asked for; then on standard error only."""
    ensemble(normal, 3)
    assert capfd.readouterr() == ("", "")
    assert ensemble(normal, 3, progress=True).replications == 3
    assert capfd.readouterr().out == ""


def raising(rng: np.random.Generator) -> np.ndarray:
    """Fail as a model of a user's may."""
    raise KeyError("mine")


def test_errors_of_the_model_come_through() -> None:
    """What the model raises is not hidden."""
    with pytest.raises(KeyError, match="mine"):
        ensemble(raising, 4)


def changing(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Give series of other names each time."""
    return {str(rng.integers(10**9)): rng.normal(size=5)}


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: ensemble(normal, 1), "replications = 1; must be a whole number from 2"),
        (lambda: ensemble(normal, 2, seed=-1), "seed = -1; must be a whole number from 0"),
        (lambda: ensemble(normal, 2, threads=0), "threads = 0; must be a whole number from 1"),
        (lambda: ensemble(normal, 2, confidence=95), "confidence = 95; must be a number > 0 and < 1"),
        (lambda: ensemble(normal, 2, warm_up="half"), "warm_up = 'half'; must be 'mser5', a number of"),
        (lambda: ensemble(normal, 2, warm_up=1.5), "warm_up = 1.5; must be 'mser5'"),
        (lambda: ensemble(normal, 2, warm_up=400), "warm_up = 400 of 400 observations leaves none"),
        (lambda: ensemble(normal, 2, relative_precision=0.0), "relative_precision = 0.0; must be a finite"),
        (
            lambda: ensemble(normal, 5, relative_precision=0.1, most_replications=3),
            "most_replications = 3; must be a whole number from 5",
        ),
        (lambda: ensemble(lambda rng: {}, 2), "replication 0: the model gave no series"),
        (lambda: ensemble(lambda rng: [], 2), "replication 0: 'value' has no observations"),
        (lambda: ensemble(lambda rng: [1.0, np.nan], 2), r"'value'\[1\] = nan; must be finite"),
        (lambda: ensemble(changing, 2), "replication 1: series .*; must be those of the first"),
        (
            lambda: ensemble(normal, 2, seed=1).difference(ensemble(normal, 2, seed=2)),
            "other has 2 replications of seed 2, this one 2 replications of seed 1",
        ),
        (lambda: queueing.interval(np.ones(1)), "values has 1 rows; a confidence interval needs at least 2"),
        (lambda: queueing.batch_means(np.ones(3), 4), "batches = 4 of 3 observations; ask for fewer"),
    ],
)
def test_what_is_refused(refused: Callable[[], object], message: str) -> None:
    """Errors name the argument, the value, the rule and the next step."""
    with pytest.raises(bl.QueueingError, match=message):
        refused()


def test_a_caller_that_stops_waits_for_no_replication() -> None:
    """One under way ends later, by itself."""
    go_on = threading.Event()

    def model(rng: np.random.Generator) -> np.ndarray:
        if rng.bit_generator.seed_seq.spawn_key != (0,):  # type: ignore[attr-defined]
            go_on.wait(60)
        return rng.random(10)

    found = replicate(model, 1, 4, 2)
    next(found)
    found.close()
    assert not go_on.is_set()
    go_on.set()
