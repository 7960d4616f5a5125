"""Streams of the laws of a log: several, independent, and as the log is."""

from dataclasses import replace

import numpy as np
import pytest

import batchlab as bl
from batchlab.core.random_streams import Floats, stream
from batchlab.errors import WorkloadError
from batchlab.generate import Constant, Empirical, Exponential, Lognormal, SizeModel, Truncated, fit_stream


def log(jobs: int = 4000) -> bl.Workload:
    """Make a log whose laws are known: intervals of 60 s, run times around 900 s."""
    made = bl.generate.from_distributions(
        jobs,
        arrival=Exponential(60),
        size=SizeModel(0.3, 0.5, 0.5, 3.0, 5.0, 0.7, 32),
        run_time=Lognormal(mu=6.8, sigma=0.8),
        seed=7,
    )
    requested = np.ceil(made.jobs["run_time"].to_numpy() * 2 + 600)
    return replace(made, jobs=made.jobs.with_columns(requested_time=requested))


def numbers(workload: bl.Workload, column: str) -> Floats:
    """Give a column as numbers."""
    return workload.jobs[column].to_numpy().astype(np.float64)


def test_the_laws_are_found() -> None:
    """The families and their numbers are those that the log was made of."""
    fitted = fit_stream(log())
    arrival, run_time = fitted.fits["arrival"], fitted.fits["run_time"]
    assert isinstance(run_time.best, Lognormal)
    assert run_time.best.median == pytest.approx(900, rel=0.05)
    exponential = arrival.distributions["expon"]
    assert isinstance(exponential, Exponential)
    assert exponential.mean == pytest.approx(60, rel=0.05)
    assert "laws of 4,000 jobs of at most 32 processors" in str(fitted)


def test_instances_are_like_the_log_and_unlike_each_other() -> None:
    """Means agree within a few hundredths; no job asks for less time than it runs."""
    given = log()
    first, second = fit_stream(given).instances(2, seed=3)
    for made in first, second:
        assert len(made) == len(given)
        assert (numbers(made, "requested_time") >= numbers(made, "run_time")).all()
        for column in "run_time", "tasks", "submit_time":
            ours, theirs = numbers(made, column), numbers(given, column)
            assert ours.mean() == pytest.approx(theirs.mean(), rel=0.06)
            assert column == "submit_time" or ours.max() <= theirs.max()
    assert not first.jobs["run_time"].equals(second.jobs["run_time"])


def test_seeds() -> None:
    """The same seed gives the same streams, and more of them begin with fewer."""
    fitted = fit_stream(log(500))
    one, three = fitted.instances(1, seed=5), fitted.instances(3, seed=5)
    assert one[0].jobs.equals(three[0].jobs)
    assert not one[0].jobs.equals(fitted.instances(1, seed=6)[0].jobs)
    assert fitted.instances(0) == []
    assert len(fitted.instances(1, jobs=9)[0]) == 9


def test_numbers_that_are_alike_or_zero() -> None:
    """They are laws too: a constant, and a share of zeros."""
    table = {"submit_time": [0, 0, 10, 20], "run_time": [0, 0, 5, 5], "tasks": [1, 1, 1, 1]}
    given = bl.Workload.from_table(table | {"requested_time": [9, 9, 9, 9]})
    (made,) = fit_stream(given).instances(1, jobs=200)
    assert set(made.jobs["run_time"]) == {0.001, 5.0}
    assert set(made.jobs["requested_time"]) == {9.0}


def test_other_laws_can_take_their_places() -> None:
    """As any part of a dataclass."""
    fitted = replace(fit_stream(log(100)), run_time=Empirical([7.0, 8.0]), requested_time=Constant(5.0))
    (made,) = fitted.instances(1)
    assert set(made.jobs["run_time"]) == {7.0, 8.0}
    assert made.jobs["requested_time"].equals(made.jobs["run_time"].alias("requested_time"))


def test_truncated() -> None:
    """Nothing is outside, and the law inside is the same."""
    drawn = Truncated(Exponential(10), 5, 20).sample(stream(1, "test"), 20_000)
    assert drawn.min() >= 5
    assert drawn.max() <= 20
    expected = (15 * np.exp(-0.5) - 30 * np.exp(-2)) / (np.exp(-0.5) - np.exp(-2))
    assert drawn.mean() == pytest.approx(expected, rel=0.01)
    assert (Truncated(Constant(3.0), 5, 20).sample(stream(1, "test"), 4) == 5).all()
    with pytest.raises(WorkloadError, match="low must be below high"):
        Truncated(Exponential(10), 5, 5)


def test_what_breaks_a_rule() -> None:
    """The message says which."""
    with pytest.raises(WorkloadError, match="the log has 1 job; must be at least 2"):
        fit_stream(log().head(1))
    with pytest.raises(WorkloadError, match="families: 'normal' is unknown"):
        fit_stream(log(50), ["normal"])
    with pytest.raises(WorkloadError, match="count = -1; must be a whole number >= 0"):
        fit_stream(log(50)).instances(-1)
