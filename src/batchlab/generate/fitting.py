"""Fit families of distributions to numbers by maximum likelihood, and compare them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from batchlab.core.distributions import (
    Distribution,
    Exponential,
    Gamma,
    Lognormal,
    LogUniform,
    Pareto,
    Uniform,
    Weibull,
)
from batchlab.core.random_streams import Floats
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.validation import check_choice

__all__ = ["FAMILIES", "Fit", "fit"]

_FEWEST = 2


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of `fit`; ``str(fit)`` is a readable summary.

    Parameters
    ----------
    best
        The best distribution by the criterion.
    distributions
        All fitted distributions, by family.
    table
        A row per family, best first: ``family``, ``distribution`` (as text, with four digits),
        ``log_likelihood``, ``aic`` (Akaike's criterion: twice the number of parameters minus twice the
        log-likelihood), ``distance`` and ``p_value`` (of the one-sample Kolmogorov-Smirnov test; the p-value
        is too large, since the parameters are estimated from the same numbers).
    """

    best: Distribution
    distributions: Mapping[str, Distribution]
    table: pl.DataFrame

    def __str__(self) -> str:
        rows = self.table.select("family", "aic", "distance", "distribution").iter_rows()
        head = f"{'family':12} {'AIC':>14} {'distance':>9}  distribution"
        return "\n".join(
            [
                head,
                *(
                    f"{family:12} {aic:14,.1f} {distance:9.4f}  {text}"
                    for family, aic, distance, text in rows
                ),
            ]
        )


Criterion = Literal["aic", "distance"]


def fit(
    values: Sequence[float] | Floats | pl.Series,
    families: Sequence[str] | None = None,
    *,
    by: Criterion = "aic",
) -> Fit:
    """Fit families of distributions to numbers by maximum likelihood, and determine the best one.

    Parameters
    ----------
    values
        Numbers above 0, not all equal, such as run times or the intervals between submissions.
    families
        The families to try: ``"expon"``, ``"gamma"``, ``"lognorm"``, ``"loguniform"``, ``"pareto"``,
        ``"uniform"``, ``"weibull"``; by default all of them.
    by
        The criterion: the least ``"aic"``, or the least ``"distance"`` of the distribution functions.

    Returns
    -------
    Fit
        With the distributions, which generators accept.

    Raises
    ------
    WorkloadError
        If a family is unknown, or the numbers cannot be fitted.

    Examples
    --------
    >>> import numpy as np
    >>> found = fit(np.random.default_rng(1).lognormal(6, 1.5, 1000), ["expon", "lognorm"])
    >>> found.table["family"].to_list()
    ['lognorm', 'expon']
    """
    check_choice("by", by, get_args(Criterion))
    try:
        data = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        data = np.empty(0)
    names = tuple(FAMILIES) if families is None else tuple(families)
    _check(data, names)
    fitted = {name: FAMILIES[name](data) for name in dict.fromkeys(names)}
    rows = [_row(name, *found, data) for name, found in fitted.items()]
    table = pl.DataFrame(rows).sort(by, maintain_order=True)
    distributions: dict[str, Distribution] = {name: found[0] for name, found in fitted.items()}
    return Fit(distributions[table["family"][0]], MappingProxyType(distributions), table)


def _check(data: Floats, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in FAMILIES:
            raise WorkloadError(f"families: {shown(name)} is unknown.{suggest(str(name), FAMILIES)}")
    if not names:
        raise WorkloadError("families is empty; name at least one, or leave it out to try all.")
    if data.ndim != 1 or len(data) < _FEWEST or not ((data > 0) & np.isfinite(data)).all():
        raise WorkloadError("values: must be at least 2 finite numbers above 0. Filter the others out first.")
    if data.min() == data.max():
        raise WorkloadError(f"values: all are {data[0]:g}; use Constant({data[0]:g}).")


def _row(family: str, distribution: Distribution, frozen: Any, data: Floats) -> dict[str, object]:  # noqa: ANN401
    from scipy.stats import kstest  # noqa: PLC0415  # takes longer to import than most fits

    likelihood = float(np.sum(frozen.logpdf(data)))
    parameters = len(vars(distribution))
    test = kstest(data, frozen.cdf)
    return {
        "family": family,
        "distribution": _spec(family, distribution),
        "log_likelihood": likelihood,
        "aic": 2.0 * parameters - 2.0 * likelihood,
        "distance": float(test.statistic),
        "p_value": float(test.pvalue),
    }


def _spec(family: str, distribution: Distribution) -> str:
    return f"{family}({', '.join(f'{name}={value:.4g}' for name, value in vars(distribution).items())})"


# Each function returns the distribution, and SciPy's equivalent for its density.
_Fitted = tuple[Distribution, Any]


def _exponential(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    mean = float(data.mean())
    return Exponential(mean), stats.expon(scale=mean)


def _gamma(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    shape, _, scale = stats.gamma.fit(data, floc=0)
    return Gamma(float(shape), float(scale)), stats.gamma(shape, scale=scale)


def _lognormal(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    logarithms = np.log(data)
    mu, sigma = float(logarithms.mean()), float(logarithms.std())
    return Lognormal(mu=mu, sigma=sigma), stats.lognorm(sigma, scale=math.exp(mu))


def _loguniform(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    low, high = float(data.min()), float(data.max())
    return LogUniform(low, high), stats.loguniform(low, high)


def _pareto(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    minimum = float(data.min())
    shape = 1 / float(np.log(data / minimum).mean())
    return Pareto(shape, minimum), stats.pareto(shape, scale=minimum)


def _uniform(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    low, high = float(data.min()), float(data.max())
    return Uniform(low, high), stats.uniform(low, high - low)


def _weibull(data: Floats) -> _Fitted:
    from scipy import stats  # noqa: PLC0415  # as above

    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    return Weibull(float(shape), float(scale)), stats.weibull_min(shape, scale=scale)


FAMILIES: Mapping[str, Callable[[Floats], _Fitted]] = MappingProxyType(
    {
        "expon": _exponential,
        "gamma": _gamma,
        "lognorm": _lognormal,
        "loguniform": _loguniform,
        "pareto": _pareto,
        "uniform": _uniform,
        "weibull": _weibull,
    }
)
"""The families of `fit`."""
