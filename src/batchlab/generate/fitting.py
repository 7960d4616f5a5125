"""Distributions fitted by maximum likelihood, and streams of jobs drawn from those fitted to a log.

Such a stream is the third kind of input stream in the literature on the adequacy of models of job management:
each parameter of a job is a random variable with a distribution estimated from a log.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, get_args

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.distributions import (
    Constant,
    Distribution,
    Exponential,
    Gamma,
    Lognormal,
    LogUniform,
    Mixture,
    Pareto,
    Truncated,
    Uniform,
    Weibull,
    drawn_again,
)
from batchlab.core.lazy import import_late
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.core.units import format_count
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.generate.custom import count_of_jobs, from_distributions
from batchlab.generate.requests import SizeModel
from batchlab.workload.header import Header
from batchlab.workload.validation import check_choice

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload


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


def _stats() -> Any:  # noqa: ANN401  # SciPy's module takes longer to import than most fits
    return import_late("scipy", "stats")


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
    likelihood = float(np.sum(frozen.logpdf(data)))
    parameters = len(vars(distribution))
    test = _stats().kstest(data, frozen.cdf)
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
    mean = float(data.mean())
    return Exponential(mean), _stats().expon(scale=mean)


def _gamma(data: Floats) -> _Fitted:
    shape, _, scale = _stats().gamma.fit(data, floc=0)
    return Gamma(float(shape), float(scale)), _stats().gamma(shape, scale=scale)


def _lognormal(data: Floats) -> _Fitted:
    logarithms = np.log(data)
    mu, sigma = float(logarithms.mean()), float(logarithms.std())
    return Lognormal(mu=mu, sigma=sigma), _stats().lognorm(sigma, scale=math.exp(mu))


def _loguniform(data: Floats) -> _Fitted:
    low, high = float(data.min()), float(data.max())
    return LogUniform(low, high), _stats().loguniform(low, high)


def _pareto(data: Floats) -> _Fitted:
    minimum = float(data.min())
    shape = 1 / float(np.log(data / minimum).mean())
    return Pareto(shape, minimum), _stats().pareto(shape, scale=minimum)


def _uniform(data: Floats) -> _Fitted:
    low, high = float(data.min()), float(data.max())
    return Uniform(low, high), _stats().uniform(low, high - low)


def _weibull(data: Floats) -> _Fitted:
    shape, _, scale = _stats().weibull_min.fit(data, floc=0)
    return Weibull(float(shape), float(scale)), _stats().weibull_min(shape, scale=scale)


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


_FEWEST_JOBS = 2
# The uniform families are excluded: their bounds equal those of the data, which favours them.
_FAMILIES = ("expon", "gamma", "lognorm", "pareto", "weibull")
_LAWS = ("arrival", "size", "run_time", "requested_time")


@dataclass(frozen=True, eq=False)
class FittedStream:
    """The distributions of a log's jobs, and streams drawn from them; ``str(fitted)`` is a readable summary.

    Use ``dataclasses.replace`` to change a distribution, as ``size=Empirical(log.jobs["tasks"])``.

    Parameters
    ----------
    jobs
        Number of jobs in the log, and by default in each instance.
    arrival
        The seconds between consecutive submissions.
    size
        The number of processors.
    run_time
        Seconds.
    requested_time
        Seconds; drawn per job under the condition that it is at least the run time.
    largest
        The largest job.
    fits
        The results of `fit` for ``arrival``, ``run_time`` and ``requested_time``, if a fit was possible.
    header
        The header of each instance.
    """

    jobs: int
    arrival: Distribution
    size: Distribution
    run_time: Distribution
    requested_time: Distribution
    largest: int
    fits: "Mapping[str, Fit]"
    header: Header

    def instances(self, count: SupportsIndex, *, seed: int = 0, jobs: int | None = None) -> "list[Workload]":
        """Draw several streams from the same distributions.

        Parameters
        ----------
        count
            Number of streams, >= 0.
        seed
            The same seed generates the same streams; the first streams do not depend on the count.
        jobs
            Number of jobs per stream; by default that of the log.

        Returns
        -------
        list
            Independent workloads.

        Raises
        ------
        WorkloadError
            If a number breaks a rule.
        """
        number = rules.check(WorkloadError, "count", count, rules.WHOLE)
        each = self.jobs if jobs is None else count_of_jobs(jobs)
        return [self._instance(each, seed, index) for index in range(number)]

    def _instance(self, jobs: int, seed: int, index: int) -> "Workload":
        own = int(stream(seed, f"instance {index}").integers(0, 2**63))
        made = from_distributions(
            jobs,
            arrival=self.arrival,
            size=self.size,
            run_time=self.run_time,
            largest=self.largest,
            header=self.header,
            seed=own,
        )
        requested = self._requested(made.jobs["run_time"].to_numpy(), own)
        return replace(made, jobs=made.jobs.with_columns(requested_time=requested))

    def _requested(self, run_time: Floats, seed: int) -> Floats:
        """Draw requested times, in whole seconds and not below the run time (its value as a last resort)."""
        random = stream(seed, "requested_time")
        requested = drawn_again(
            np.zeros(len(run_time)),
            lambda drawn: drawn < run_time,
            lambda missing: np.ceil(self.requested_time.sample(random, missing)),
        )
        return np.maximum(requested, run_time)

    def __str__(self) -> str:
        lines = [f"{name:13} {getattr(self, name)}" for name in _LAWS]
        most = format_count(self.largest, "processor")
        return "\n".join([f"laws of {format_count(self.jobs, 'job')} of at most {most}", *lines])


@checked(WorkloadError)
def fit_stream(
    log: "Workload", families: Sequence[str] | None = None, *, by: Criterion = "distance"
) -> FittedStream:
    """Fit distributions to the arrivals, sizes, run times and requested times of a log's jobs.

    Each distribution is the best of several families, by maximum likelihood, truncated to the range of the
    log; zeros have a separate probability. Sizes follow Lublin's model with parameters from the log. The four
    distributions are independent, except that no job requests less than its run time, and jobs are
    independent of each other; if the daily cycle matters, use `like`.

    Parameters
    ----------
    log
        At least 2 jobs.
    families
        The families to try, as for `fit`; by default exponential, gamma, lognormal, Pareto and Weibull.
    by
        The criterion, as for `fit`; by default the distance, since the model with the least AIC may have a
        very different mean.

    Returns
    -------
    FittedStream
        The fitted stream; ``instances`` generates workloads.

    Raises
    ------
    WorkloadError
        If the log is too short, has jobs with applications, or a family is unknown.

    Examples
    --------
    >>> from batchlab.generate import demo_workload
    >>> fitted = fit_stream(demo_workload(), ["expon", "lognorm"])
    >>> first, second = fitted.instances(2, seed=1)
    >>> len(first) == fitted.jobs, first.jobs.equals(second.jobs)
    (True, False)
    """
    if log.applications:
        raise WorkloadError("fit_stream: jobs with applications have no run times. Filter them out first.")
    if len(log) < _FEWEST_JOBS:
        count = format_count(len(log), "job")
        raise WorkloadError(f"fit_stream: the log has {count}; must be at least {_FEWEST_JOBS}.")
    run_time = log.jobs["run_time"].to_numpy()
    requested = log.jobs["requested_time"].to_numpy()
    sizes = _sizes(log)
    values = {
        "arrival": np.diff(np.sort(log.jobs["submit_time"].to_numpy())),
        "run_time": run_time,
        "requested_time": requested,
    }
    laws = {name: _law(numbers, families or _FAMILIES, by) for name, numbers in values.items()}
    return FittedStream(
        jobs=len(log),
        arrival=laws["arrival"][0],
        size=SizeModel.fit(sizes),
        run_time=laws["run_time"][0],
        requested_time=laws["requested_time"][0],
        largest=int(sizes.max()),
        fits={name: found for name, (_, found) in laws.items() if found is not None},
        header=_header(log),
    )


def _law(values: Floats, families: Sequence[str], by: Criterion) -> tuple[Distribution, Fit | None]:
    """Fit a distribution to numbers >= 0, many of which may be 0."""
    above = values[values > 0]
    share = 1 - len(above) / len(values)
    if not above.size:
        return Constant(0.0), None
    low, high = float(above.min()), float(above.max())
    found = None if low == high else fit(above, families, by=by)
    law: Distribution = Constant(low) if found is None else Truncated(found.best, low, high)
    return (Mixture((Constant(0.0), law), (share, 1 - share)) if share else law), found


def _sizes(log: "Workload") -> Integers:
    """Return the processors of each job: its cores if it requests cores, else its tasks."""
    tasks = log.jobs["tasks"].to_numpy()
    if "core" in log.resources:
        tasks = tasks * log.jobs["core"].to_numpy()
    return np.asarray(np.maximum(tasks, 1), dtype=np.int64)


def _header(log: "Workload") -> Header:
    """Return a header with the size of the machine."""
    known = log.header
    fields = {"MaxNodes": known.max_nodes, "MaxProcs": known.max_processors}
    given = {label: value for label, value in fields.items() if value is not None}
    return Header.from_fields({**given, "Note": "jobs of distributions fitted to a log"})
