"""Distributions by hand, and workloads of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import (
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Harmonic,
    Lognormal,
    LogUniform,
    Mixture,
    Normal,
    Pareto,
    TwoStageUniform,
    Uniform,
    Weibull,
    from_distributions,
)
from support.moments import agree, shares_agree

# Each with SciPy's of the same name.
CONTINUOUS: list[tuple[Distribution, object]] = [
    (Uniform(2, 5), stats.uniform(2, 3)),
    (LogUniform(2, 500), stats.loguniform(2, 500)),
    (Exponential(7), stats.expon(scale=7)),
    (Normal(70, 3), stats.norm(70, 3)),
    (Gamma(2.5, 3), stats.gamma(2.5, scale=3)),
    (Lognormal(mu=4.6, sigma=0.8), stats.lognorm(0.8, scale=math.exp(4.6))),
    (Weibull(1.7, 40), stats.weibull_min(1.7, scale=40)),
    (Pareto(3.5, 10), stats.pareto(3.5, scale=10)),
]


@pytest.mark.parametrize(("distribution", "law"), CONTINUOUS, ids=lambda each: type(each).__name__)
def test_samples_follow_the_law(distribution: Distribution, law: stats.rv_continuous) -> None:
    """Shares and mean are those of SciPy's distribution of the name."""
    sample = distribution.sample(np.random.default_rng(3), 200_000)
    assert shares_agree(
        sample,
        lambda point: float(law.cdf(point)),
        [float(law.ppf(share)) for share in (0.01, 0.1, 0.3, 0.5, 0.8, 0.99)],
    )
    assert agree(sample, distribution.mean)  # type: ignore[attr-defined]
    assert float(law.mean()) == pytest.approx(distribution.mean)  # type: ignore[attr-defined]


def test_harmonic() -> None:
    """1, 1/4 and 1/9, over their sum."""
    harmonic = Harmonic(2, 3)
    assert harmonic.probabilities.tolist() == pytest.approx([36 / 49, 9 / 49, 4 / 49])
    sample = harmonic.sample(np.random.default_rng(1), 100_000)
    assert set(sample) == {1, 2, 3}
    assert agree(sample, (36 + 18 + 12) / 49)


def test_mixture() -> None:
    """Hyper-exponential: its moments are those of its parts."""
    mixture = Mixture((Exponential(1), Exponential(10)), (0.75, 0.25))
    sample = mixture.sample(np.random.default_rng(1), 300_000)
    assert mixture.mean == pytest.approx(3.25)
    assert agree(sample, 3.25)
    assert agree(sample**2, 0.75 * 2 + 0.25 * 200)


def test_two_stage_uniform() -> None:
    """A broken line."""
    stages = TwoStageUniform(0, 2, 10, 0.7)
    sample = stages.sample(np.random.default_rng(1), 100_000)
    assert shares_agree(sample, lambda at: float(np.interp(at, [0, 2, 10], [0, 0.7, 1])), [1, 2, 3, 6, 9])
    assert agree(sample, stages.mean)


def test_empirical() -> None:
    """The values themselves; they cannot be changed afterwards."""
    values = np.array([1.0, 5.0, 5.0])
    empirical = Empirical(values)
    values[0] = 99
    assert set(empirical.sample(np.random.default_rng(1), 100)) == {1.0, 5.0}
    assert empirical.mean == pytest.approx(11 / 3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Exponential(0), "Exponential: mean = 0; must be a finite number > 0"),
        (lambda: Gamma(1, "a"), "Gamma: scale = 'a'"),  # type: ignore[arg-type]
        (lambda: Uniform(3, 2), "low must be below high"),
        (lambda: Mixture((Exponential(1),), (0.5,)), "must add up to 1, not 0.5"),
        (lambda: Mixture((), ()), "give each part a probability"),
        (lambda: Empirical([]), "values: must be a row of finite numbers"),
        (lambda: TwoStageUniform(3, 2, 1, 0.5), "must rise from low to high"),
    ],
    ids=["zero", "text", "falling", "sum", "nothing", "no values", "stages"],
)
def test_wrong_parameters_are_told(make: object, said: str) -> None:
    """When the distribution is described, not when it is used."""
    with pytest.raises(WorkloadError, match=said):
        make()  # type: ignore[operator]


def test_workloads_of_distributions() -> None:
    """Times add up, sizes are whole and cut, requests cover the runs."""
    made = from_distributions(
        1000,
        arrival=Exponential(60),
        size=LogUniform(0.2, 100),
        run_time=Lognormal(mu=6.4, sigma=2),
        overestimate=Uniform(0.5, 5),
        largest=64,
        seed=5,
    ).jobs
    assert made["submit_time"][0] == 0
    assert made["submit_time"].is_sorted()
    assert set(made["tasks"]) >= {1, 64}
    assert made["tasks"].is_between(1, 64).all()
    assert (made["requested_time"] >= made["run_time"]).all()
    assert (made["requested_time"] / made["run_time"].ceil()).max() <= 6  # type: ignore[operator]


def test_streams_are_apart() -> None:
    """Another size leaves the run times as they are."""
    one, other = (
        from_distributions(50, arrival=Constant(1), size=size, run_time=Exponential(9)).jobs
        for size in (Constant(1), Harmonic(1.5, 64))
    )
    assert one["run_time"].equals(other["run_time"])
    assert one["run_time"].equals(one["requested_time"], check_names=False)


def test_ones_own_distribution() -> None:
    """Whatever can be sampled will do; what it gives is checked."""

    class Twos:
        def sample(self, random: np.random.Generator, count: int) -> np.ndarray:
            return np.full(count if random is not None else 0, 2.0)

    class Nothing:
        def sample(self, random: np.random.Generator, count: int) -> np.ndarray:
            return np.full(count, np.nan) if random is not None else np.zeros(1)

    made = from_distributions(3, arrival=Twos(), size=Twos(), run_time=Twos())
    assert made.jobs["submit_time"].to_list() == [0, 2, 4]
    with pytest.raises(WorkloadError, match="must give 3 numbers >= 0"):
        from_distributions(3, arrival=Twos(), size=Twos(), run_time=Nothing())
    with pytest.raises(WorkloadError, match="size = 4; must be a distribution"):
        from_distributions(3, arrival=Twos(), size=4, run_time=Twos())  # type: ignore[arg-type]
    with pytest.raises(WorkloadError, match="largest = 0; must be a whole number >= 1"):
        from_distributions(3, arrival=Twos(), size=Twos(), run_time=Twos(), largest=0)


@pytest.mark.parametrize(
    ("family", "distribution"),
    [
        ("expon", Exponential(40)),
        ("gamma", Gamma(0.5, 100)),
        ("lognorm", Lognormal(mu=4, sigma=1.5)),
        ("loguniform", LogUniform(1, 5000)),
        ("pareto", Pareto(1.2, 3)),
        ("uniform", Uniform(5, 9)),
        ("weibull", Weibull(2.5, 30)),
    ],
)
def test_fits_find_what_was_drawn(family: str, distribution: Distribution) -> None:
    """Of all families the right one, with its parameters."""
    values = distribution.sample(np.random.default_rng(10), 5000)
    found = bl.generate.fit(values)
    assert found.table["family"][0] == family
    assert list(vars(found.best).values()) == pytest.approx(list(vars(distribution).values()), rel=0.06)
    assert found.table["p_value"][0] > 0.01
    assert found.best is found.distributions[family]
    assert str(found).splitlines()[1].startswith(family)


def test_criteria() -> None:
    """The least of what was asked for comes first; AIC counts parameters."""
    values = Exponential(5).sample(np.random.default_rng(1), 500)
    for by in ("aic", "distance"):
        assert bl.generate.fit(values, by=by).table[by].is_sorted()
    row = bl.generate.fit(values, ["gamma"]).table.row(0, named=True)
    assert row["aic"] == pytest.approx(4 - 2 * row["log_likelihood"])


@pytest.mark.parametrize(
    ("values", "families", "said"),
    [
        ([1, 2], ["gama"], "'gama' is unknown. Did you mean 'gamma'"),
        ([1, 2], [], "families is empty"),
        ([0, 2], None, "finite numbers above 0"),
        ([3, 3], None, r"all are 3; use Constant\(3\)"),
    ],
    ids=["family", "no family", "zero", "alike"],
)
def test_wrong_fits_are_told(values: list[float], families: list[str] | None, said: str) -> None:
    """By the argument."""
    with pytest.raises(WorkloadError, match=said):
        bl.generate.fit(values, families)
