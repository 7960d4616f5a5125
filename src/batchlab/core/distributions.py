"""Distributions for overheads, failures, generators and arrivals.

Any object with a method ``sample(random, count)`` is a distribution, including the user's own classes.
`distribution_of` builds named distributions from specs such as ``"uniform(low=10, high=12)"``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from batchlab.core import rules
from batchlab.core.lazy import import_late
from batchlab.core.random_streams import Floats, stream
from batchlab.core.spec import Argument, Call, Grammar, Spec, written
from batchlab.errors import BatchlabError, WorkloadError, shown, suggest

__all__ = [
    "NAMES",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gamma",
    "Harmonic",
    "LogUniform",
    "Lognormal",
    "Mixture",
    "Normal",
    "Pareto",
    "SciPy",
    "Truncated",
    "TwoStageUniform",
    "Uniform",
    "Weibull",
    "distribution_of",
    "draw",
    "named_distribution",
]

_SUM_OF_SHARES = 1e-9
_MOST_DRAWS = 1000


@runtime_checkable
class Distribution(Protocol):
    """An object to draw random numbers from."""

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
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
        """Return `count` draws."""
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
        """Return `count` draws."""
        return random.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class TwoStageUniform:
    """Uniform from ``low`` to ``middle`` with a probability, otherwise from ``middle`` to ``high``.

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
        """Return `count` draws."""
        first = random.random(count) < self.probability
        below, above = np.where(first, self.low, self.middle), np.where(first, self.middle, self.high)
        return np.asarray(below + random.random(count) * (above - below), dtype=np.float64)


@dataclass(frozen=True)
class LogUniform:
    """A distribution with a uniform logarithm, from ``low`` to ``high``; both are above 0."""

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
        """Return `count` draws."""
        return np.exp(random.uniform(math.log(self.low), math.log(self.high), count))


@dataclass(frozen=True)
class Exponential:
    """Exponential, given its mean."""

    mean: float

    def __post_init__(self) -> None:
        _positive(self)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        return random.exponential(self.mean, count)


@dataclass(frozen=True)
class Gamma:
    """Gamma with a shape and a scale; an Erlang distribution if the shape is an integer."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.shape * self.scale

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        return random.gamma(self.shape, self.scale, count)


@dataclass(frozen=True)
class Normal:
    """Normal with a mean and a standard deviation."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        rules.hold(self, WorkloadError, "Normal: ", mean=rules.FINITE, sd=rules.POSITIVE)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        return random.normal(self.mean, self.sd, count)


@dataclass(frozen=True, kw_only=True)
class Lognormal:
    """A distribution with a normal natural logarithm, with mean ``mu`` and standard deviation ``sigma``."""

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        rules.hold(self, WorkloadError, "Lognormal: ", mu=rules.FINITE, sigma=rules.POSITIVE)

    @property
    def mean(self) -> float:
        """The expectation."""
        return math.exp(self.mu + self.sigma**2 / 2)

    @property
    def median(self) -> float:
        """The median."""
        return math.exp(self.mu)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        return random.lognormal(self.mu, self.sigma, count)


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
        """Return `count` draws."""
        return np.asarray(self.scale * random.weibull(self.shape, count), dtype=np.float64)


@dataclass(frozen=True)
class Pareto:
    """Pareto: P(X > x) = ``(minimum / x) ** shape``."""

    shape: float
    minimum: float

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def mean(self) -> float:
        """The expectation, infinite for shapes up to 1."""
        return self.shape * self.minimum / (self.shape - 1) if self.shape > 1 else math.inf

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        return np.asarray(self.minimum * (1 + random.pareto(self.shape, count)), dtype=np.float64)


@dataclass(frozen=True)
class Harmonic:
    """Integers n from 1 to ``largest`` with probabilities proportional to ``n ** -order``; Zipf's law."""

    order: float
    largest: int

    def __post_init__(self) -> None:
        _positive(self)

    @property
    def probabilities(self) -> Floats:
        """Probabilities of 1, 2, …, ``largest``."""
        powers = np.arange(1, self.largest + 1, dtype=np.float64) ** -self.order
        return np.asarray(powers / powers.sum(), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The expectation."""
        return float((np.arange(1, self.largest + 1) * self.probabilities).sum())

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        below = np.cumsum(self.probabilities)[:-1]
        return np.asarray(np.searchsorted(below, random.random(count), side="right") + 1.0, dtype=np.float64)


@dataclass(frozen=True)
class Mixture:
    """A mixture of distributions; hyper-exponential if all parts are exponential.

    Parameters
    ----------
    parts
        The distributions.
    probabilities
        The probability of each part; they sum to 1.
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
        """The expectation; NaN if a part has no attribute ``mean``."""
        means = (float(getattr(part, "mean", math.nan)) for part in self.parts)
        return math.fsum(share * mean for share, mean in zip(self.probabilities, means, strict=True))

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        below = np.cumsum(self.probabilities)[:-1]
        part = np.searchsorted(below, random.random(count), side="right")
        drawn = np.stack([each.sample(random, count) for each in self.parts])
        return np.asarray(np.take_along_axis(drawn, part[None, :], axis=0)[0], dtype=np.float64)


@dataclass(frozen=True)
class Truncated:
    """A distribution truncated to ``low`` and ``high`` by redrawing.

    Truncating fitted distributions with long tails prevents a few values beyond all measured ones from
    dominating the mean. After a thousand draws outside the bounds, the nearer bound is used.
    """

    distribution: Distribution
    low: float
    high: float

    def __post_init__(self) -> None:
        _rising(self, self.low, self.high)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        drawn = drawn_again(
            np.array(self.distribution.sample(random, count), dtype=np.float64),
            lambda drawn: ~((drawn >= self.low) & (drawn <= self.high)),
            lambda missing: self.distribution.sample(random, missing),
        )
        return np.clip(np.nan_to_num(drawn, nan=self.low), self.low, self.high)


def drawn_again(
    drawn: Floats, is_outside: Callable[[Floats], npt.NDArray[np.bool_]], draw: Callable[[int], Floats]
) -> Floats:
    """Redraw values outside the bounds, at most a thousand times."""
    for _ in range(_MOST_DRAWS):
        outside = is_outside(drawn)
        missing = int(outside.sum())
        if not missing:
            break
        drawn[outside] = draw(missing)
    return drawn


@dataclass(frozen=True, eq=False)
class Empirical:
    """The values of a log, all with equal probability."""

    values: Sequence[float] | Floats

    def __post_init__(self) -> None:
        try:
            values = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise WorkloadError("values: must be a row of finite numbers, at least one.")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(np.mean(self.values))

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        values = np.asarray(self.values, dtype=np.float64)
        return values[random.integers(0, len(values), count)]


@dataclass(frozen=True)
class SciPy:
    """A distribution of `scipy.stats`.

    Parameters
    ----------
    name
        The name in `scipy.stats`, such as ``"beta"``.
    parameters
        Parameters by the names of the arguments of ``rvs``: shapes, ``loc`` and ``scale``.
    """

    name: str
    parameters: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        found = _of_scipy(self.name)
        given = dict(self.parameters)
        try:
            least = found(**given).support()[0]
        except (TypeError, ValueError) as error:
            raise WorkloadError(f"scipy.stats.{self.name} does not take these parameters: {error}.") from None
        if math.isnan(least):
            shown_parameters = ", ".join(f"{key}={value:g}" for key, value in given.items())
            raise WorkloadError(
                f"scipy.stats.{self.name}({shown_parameters}): a parameter is out of its range."
            )

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` draws."""
        # Overflows are detected by the caller.
        with np.errstate(all="ignore"):
            drawn = _of_scipy(self.name).rvs(**dict(self.parameters), size=count, random_state=random)
        return np.asarray(drawn, dtype=np.float64)


def _of_scipy(name: str) -> Any:  # noqa: ANN401  # SciPy has no types
    """Return a distribution of `scipy.stats` without its parameters."""
    # Slow, and needed for distributions without a class only.
    stats = import_late("scipy", "stats")
    kinds = (stats.rv_continuous, stats.rv_discrete)
    found = getattr(stats, name, None)
    if not isinstance(found, kinds):
        known = [each for each in dir(stats) if isinstance(getattr(stats, each), kinds)]
        raise WorkloadError(f"no distribution named {name!r}.{suggest(name, {*NAMES, *known})}")
    return found


NAMES: Mapping[str, type[Distribution]] = MappingProxyType(
    {
        "constant": Constant,
        "expon": Exponential,
        "gamma": Gamma,
        "lognorm": Lognormal,
        "loguniform": LogUniform,
        "norm": Normal,
        "pareto": Pareto,
        "uniform": Uniform,
        "weibull": Weibull,
    }
)
"""Distributions with their own classes, by their names in specs; parameters are the fields of the classes.

Other names refer to distributions of `scipy.stats`, with their parameters.
"""


def distribution_of(text: str, error: type[BatchlabError]) -> Distribution:
    """Build a distribution from its spec.

    Parameters
    ----------
    text
        ``NAME(parameter=value, …)``: a name of `NAMES`, or of a distribution of `scipy.stats`.
    error
        The class of the errors.

    Raises
    ------
    BatchlabError
        Of class `error`: the distribution is unknown, does not have these parameters, or a parameter has no
        name.

    Examples
    --------
    >>> distribution_of("uniform(low=10, high=12)", WorkloadError)
    Uniform(low=10, high=12)
    """
    return named_distribution(*Grammar("distribution", error, "uniform(low=0, high=2)").parse(text), error)


def named_distribution(spec: Spec, call: Call, error: type[BatchlabError]) -> Distribution:
    """Build a distribution from a parsed spec; see `distribution_of`."""
    where = spec.where(call.position)
    kind = NAMES.get(call.name)
    try:
        kind or _of_scipy(call.name)
    except WorkloadError as refused:
        raise error(f"{refused}{where}") from None

    def number(name: str, argument: Argument) -> float:
        at = spec.where(argument.position)
        return rules.check(
            error, f"{call.name}: {name}", argument.value, rules.FINITE, written=written, where=at
        )

    numbers = [number("a parameter", each) for each in call.values]
    given = {key: number(key, each) for key, each in call.keys.items()}
    if numbers:
        raise error(f"{call.name}: {_without_names(call.name, numbers)}{where}")
    if kind is not None:
        known = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # all are dataclasses
        for key, argument in call.keys.items():
            if key not in known:
                place = spec.where(argument.key_position)
                raise error(f"{call.name} has no parameter {key!r}.{suggest(key, known)}{place}")
        if missing := [name for name in known if name not in given]:
            usage = ", ".join(f"{name}=…" for name in known)
            raise error(
                f"{call.name}: {' and '.join(missing)} is missing; write {call.name}({usage}).{where}"
            )
    try:
        return SciPy(call.name, tuple(given.items())) if kind is None else kind(**given)
    except WorkloadError as refused:
        raise error(f"{refused}{where}") from None


# Named forms of positional parameters of scipy.stats.
_BY_PLACE: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "expon": lambda loc=0, scale=1: f"{loc:g} + expon(mean={scale:g})",
        "gamma": lambda a=1, loc=0, scale=1: f"{loc:g} + gamma(shape={a:g}, scale={scale:g})",
        "lognorm": lambda s=1, loc=0, scale=1: f"{loc:g} + lognorm(mu={math.log(scale):g}, sigma={s:g})",
        "loguniform": lambda a=1, b=2: f"loguniform(low={a:g}, high={b:g})",
        "norm": lambda loc=0, scale=1: f"norm(mean={loc:g}, sd={scale:g})",
        "pareto": lambda b=1, loc=0, scale=1: f"{loc:g} + pareto(shape={b:g}, minimum={scale:g})",
        "uniform": lambda loc=0, scale=1: f"uniform(low={loc:g}, high={loc + scale:g})",
    }
)


def _without_names(name: str, numbers: Sequence[float]) -> str:
    """Return the error for parameters without names, with their two former meanings."""
    kind = NAMES.get(name)
    if kind is None:
        return "name each parameter, as in weibull(shape=0.7, scale=3600)."
    parameters = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # all are dataclasses
    rule = f"name each parameter: {name}({', '.join(f'{each}=…' for each in parameters)})."
    by_order = ", ".join(f"{each}={number:g}" for each, number in zip(parameters, numbers, strict=False))
    by_place = _BY_PLACE.get(name)
    try:
        as_scipy = None if by_place is None else by_place(*numbers)
    except (TypeError, ValueError):
        as_scipy = None
    readings = [] if name == "norm" else [f"{name}({by_order}) as failures read it"]
    readings += [] if as_scipy is None else [f"{as_scipy} as overheads did"]
    return f"{rule} Without names it was {' or '.join(reversed(readings))}."


def draw(name: str, distribution: Distribution | str, jobs: int, seed: int) -> Floats:
    """Draw numbers >= 0 for an argument of a generator, with a random stream for its name.

    Raises
    ------
    WorkloadError
        If the value is not a distribution or a spec, or draws other numbers.
    """
    if isinstance(distribution, str):
        distribution = distribution_of(distribution, WorkloadError)
    if not isinstance(distribution, Distribution):
        raise WorkloadError(
            f"{name} = {shown(distribution)}; must be a distribution, such as Exponential(60) or "
            "'expon(mean=60)', or whatever has sample(random, count)."
        )
    values = np.array(distribution.sample(stream(seed, name), jobs), dtype=np.float64)
    if values.shape != (jobs,) or not ((values >= 0) & np.isfinite(values)).all():
        raise WorkloadError(f"{name}: {shown(distribution)} must give {jobs} numbers >= 0.")
    return values


def _positive(description: LogUniform | Exponential | Gamma | Weibull | Pareto | Harmonic) -> None:
    """Refuse parameters that are no positive numbers."""
    where = f"{type(description).__name__}: "
    positive = {field.name: rules.POSITIVE for field in fields(description)}
    rules.hold(description, WorkloadError, where, **positive)


def _rising(description: object, low: float, high: float) -> None:
    if not -math.inf < low < high < math.inf:
        kind = type(description).__name__
        raise WorkloadError(f"{kind}: from {shown(low)} to {shown(high)}; low must be below high.")
