"""Distributions by hand: small descriptions of what to draw, each of which can draw it.

Whatever has a method ``sample(random, count)`` is a distribution for the generators, so one's own class is
one too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from batchlab.errors import WorkloadError, shown
from batchlab.random_streams import Floats, stream

__all__ = [
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gamma",
    "Harmonic",
    "LogUniform",
    "Lognormal",
    "Mixture",
    "Pareto",
    "Truncated",
    "TwoStageUniform",
    "Uniform",
    "Weibull",
    "draw",
]

_SUM_OF_SHARES = 1e-9
_MOST_DRAWS = 1000


@runtime_checkable
class Distribution(Protocol):
    """Something that numbers can be drawn from."""

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        ...


@dataclass(frozen=True)
class Constant:
    """Always the same number."""

    value: float

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.value

    def sample(self, random: np.random.Generator, count: int) -> Floats:  # noqa: ARG002  # nothing is left to chance
        """Draw so many numbers."""
        return np.full(count, float(self.value))


@dataclass(frozen=True)
class Uniform:
    """Uniform from ``low`` to ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _rising(self, self.low, self.high)

    @property
    def mean(self) -> float:
        """The expectation."""
        return (self.low + self.high) / 2

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return random.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class TwoStageUniform:
    """Uniform from ``low`` to ``middle`` with a probability, else from ``middle`` to ``high``.

    The distribution of Lublin and Feitelson for the binary logarithm of the size of jobs.
    """

    low: float
    middle: float
    high: float
    probability: float

    def __post_init__(self) -> None:
        if not self.low <= self.middle <= self.high or not 0 <= self.probability <= 1:
            raise WorkloadError(f"{shown(self)}; must rise from low to high, with a probability from 0 to 1.")

    @property
    def mean(self) -> float:
        """The expectation."""
        return (self.probability * self.low + self.middle + (1 - self.probability) * self.high) / 2

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        first = random.random(count) < self.probability
        below, above = np.where(first, self.low, self.middle), np.where(first, self.middle, self.high)
        return np.asarray(below + random.random(count) * (above - below), dtype=np.float64)


@dataclass(frozen=True)
class LogUniform:
    """Its logarithm is uniform, from that of ``low`` to that of ``high``; both are above 0."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _positive(self)
        _rising(self, self.low, self.high)

    @property
    def mean(self) -> float:
        """The expectation."""
        return (self.high - self.low) / math.log(self.high / self.low)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return np.exp(random.uniform(math.log(self.low), math.log(self.high), count))


@dataclass(frozen=True)
class Exponential:
    """Exponential, given its mean."""

    mean: float

    def __post_init__(self) -> None:
        _positive(self)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return random.exponential(self.mean, count)


@dataclass(frozen=True)
class Gamma:
    """Gamma with a shape and a scale; an Erlang distribution where the shape is whole."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.shape * self.scale

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return random.gamma(self.shape, self.scale, count)


@dataclass(frozen=True)
class Lognormal:
    """Its logarithm is normal with the standard deviation ``sigma`` around that of ``median``."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.median * math.exp(self.sigma**2 / 2)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return random.lognormal(math.log(self.median), self.sigma, count)


@dataclass(frozen=True)
class Weibull:
    """Weibull with a shape and a scale."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.scale * math.gamma(1 + 1 / self.shape)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return np.asarray(self.scale * random.weibull(self.shape, count), dtype=np.float64)


@dataclass(frozen=True)
class Pareto:
    """Pareto: above x with the probability ``(minimum / x) ** shape``."""

    shape: float
    minimum: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation, infinite for shapes up to 1."""
        return self.shape * self.minimum / (self.shape - 1) if self.shape > 1 else math.inf

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        return np.asarray(self.minimum * (1 + random.pareto(self.shape, count)), dtype=np.float64)


@dataclass(frozen=True)
class Harmonic:
    """Whole numbers n from 1 to ``largest``, with probabilities as ``n ** -order``; also called Zipf's."""

    order: float
    largest: int

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def probabilities(self) -> Floats:
        """Those of 1, 2, …, ``largest``."""
        powers = np.arange(1, self.largest + 1, dtype=np.float64) ** -self.order
        return np.asarray(powers / powers.sum(), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The expectation."""
        return float((np.arange(1, self.largest + 1) * self.probabilities).sum())

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        below = np.cumsum(self.probabilities)[:-1]
        return np.asarray(np.searchsorted(below, random.random(count), side="right") + 1.0, dtype=np.float64)


@dataclass(frozen=True)
class Mixture:
    """One of several distributions each time: hyper-exponential, if these are exponential, and so on.

    Parameters
    ----------
    parts
        The distributions.
    probabilities
        That of each; they add up to 1.
    """

    parts: tuple[Distribution, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        shares = self.probabilities
        if not self.parts or len(self.parts) != len(shares) or min(shares) < 0:
            raise WorkloadError(f"{shown(self)}: give each part a probability >= 0.")
        if abs(sum(shares) - 1) > _SUM_OF_SHARES:
            raise WorkloadError(f"probabilities = {shown(shares)}; must add up to 1, not {sum(shares):g}.")

    @property
    def mean(self) -> float:
        """The expectation, NaN if some part does not know its own."""
        means = (float(getattr(part, "mean", math.nan)) for part in self.parts)
        return math.fsum(share * mean for share, mean in zip(self.probabilities, means, strict=True))

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        below = np.cumsum(self.probabilities)[:-1]
        part = np.searchsorted(below, random.random(count), side="right")
        drawn = np.stack([each.sample(random, count) for each in self.parts])
        return np.asarray(np.take_along_axis(drawn, part[None, :], axis=0)[0], dtype=np.float64)


@dataclass(frozen=True)
class Truncated:
    """A distribution between ``low`` and ``high``: what is outside is drawn again.

    Fitted distributions with long tails are cut so, lest a few numbers beyond all that were measured make
    the mean. What is outside a thousand times over is the nearer bound.
    """

    distribution: Distribution
    low: float
    high: float

    def __post_init__(self) -> None:
        _rising(self, self.low, self.high)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        drawn = drawn_again(
            np.array(self.distribution.sample(random, count), dtype=np.float64),
            lambda drawn: ~((drawn >= self.low) & (drawn <= self.high)),
            lambda missing: self.distribution.sample(random, missing),
        )
        return np.clip(np.nan_to_num(drawn, nan=self.low), self.low, self.high)


def drawn_again(
    drawn: Floats, is_outside: Callable[[Floats], npt.NDArray[np.bool_]], draw: Callable[[int], Floats]
) -> Floats:
    """Draw what is outside again, a thousand times over; `draw` gives so many numbers."""
    for _ in range(_MOST_DRAWS):
        outside = is_outside(drawn)
        missing = int(outside.sum())
        if not missing:
            break
        drawn[outside] = draw(missing)
    return drawn


@dataclass(frozen=True, eq=False)
class Empirical:
    """The values of a log, each as likely as the others."""

    values: Sequence[float] | Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise WorkloadError("values: must be a row of finite numbers, at least one.")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(np.mean(self.values))

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw so many numbers."""
        values = np.asarray(self.values, dtype=np.float64)
        return values[random.integers(0, len(values), count)]


def draw(name: str, distribution: Distribution, jobs: int, seed: int) -> Floats:
    """Draw numbers >= 0 for an argument of a generator, from the stream of its name.

    Raises
    ------
    WorkloadError
        If it is no distribution, or gives what are no such numbers.
    """
    if not isinstance(distribution, Distribution):
        raise WorkloadError(
            f"{name} = {shown(distribution)}; must be a distribution, such as Exponential(60), or whatever "
            "has sample(random, count)."
        )
    values = np.array(distribution.sample(stream(seed, name), jobs), dtype=np.float64)
    if values.shape != (jobs,) or not ((values >= 0) & np.isfinite(values)).all():
        raise WorkloadError(f"{name}: {shown(distribution)} must give {jobs} numbers >= 0.")
    return values


def _positive(
    description: "LogUniform | Exponential | Gamma | Lognormal | Weibull | Pareto | Harmonic",
) -> None:
    """Refuse parameters that are no positive numbers."""
    for field in fields(description):
        value = getattr(description, field.name)
        if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < math.inf:
            kind = type(description).__name__
            raise WorkloadError(f"{kind}: {field.name} = {shown(value)}; must be a number above 0.")


def _rising(description: object, low: float, high: float) -> None:
    if not -math.inf < low < high < math.inf:
        kind = type(description).__name__
        raise WorkloadError(f"{kind}: from {shown(low)} to {shown(high)}; low must be below high.")
