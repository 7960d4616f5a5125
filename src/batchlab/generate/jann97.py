"""The model of Jann et al. (1997): hyper-Erlang intervals and run times per range of sizes, fitted to a log.

Based on J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira, J. Riodan, "Modeling of workload in MPPs",
JSSPP 1997, LNCS 1291. Jobs are classified by size: 1, 2, 3-4, 5-8, and so on up to powers of two. In each
class, the intervals between submissions and the run times are hyper-Erlang of common order: Erlang of order n
with the rate λ1 with the probability p, else with the rate λ2. The four parameters of each match the first
three moments of the data with the least possible order.

The paper's table of parameters (of the SP2 at Cornell) could not be checked, and is not included:
`JannModel.fit` estimates parameters from a log, as in the paper, and a `JannModel` can be created with any
others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from batchlab.core.distributions import Distribution, Empirical
from batchlab.core.random_streams import Floats, stream
from batchlab.errors import WorkloadError, shown
from batchlab.generate.custom import count_of_jobs
from batchlab.workload.header import Header
from batchlab.workload.requests import run_times
from batchlab.workload.workload import Workload, check_workload

_HIGHEST_ORDER = 200
_FEWEST_JOBS = 4
# Relative tolerance of moments, and factor for equality up to rounding.
_EXACT = 1e-7
_ALMOST = 1 + 1e-9


@dataclass(frozen=True)
class HyperErlang:
    """A mixture of two Erlang distributions of the same order with different rates.

    Parameters
    ----------
    order
        The number of exponential stages of both, at least 1.
    probability
        The probability of the first rate.
    rates
        The rates per second of one stage; the mean is the order divided by the rate.
    """

    order: int
    probability: float
    rates: tuple[float, float]

    def __post_init__(self) -> None:
        if self.order < 1 or not 0 <= self.probability <= 1 or not min(self.rates) > 0:
            raise WorkloadError(
                f"{shown(self)}: the order must be >= 1, the probability from 0 to 1, both rates above 0."
            )

    @classmethod
    def of_moments(cls, first: float, second: float, third: float) -> "HyperErlang":
        """Return the distribution with these moments about 0, of the least possible order.

        With the order n, the k-th moment divided by n (n+1) … (n+k-1) is the mean of (1/λ)^k: so 1/λ1 and
        1/λ2 are the roots of a quadratic equation (M. A. Johnson and M. R. Taaffe, Stochastic Models 5(4),
        1989). If no order up to 200 matches all three moments, the third is raised to the minimum that the
        least order for the first two allows.

        Raises
        ------
        WorkloadError
            If the moments are not those of positive numbers.
        """
        # For equal numbers, rounding may make the variance negative.
        if not (first > 0 and second >= first * first / _ALMOST and third > 0):
            raise WorkloadError(
                f"moments {first:g}, {second:g}, {third:g}; must be those of positive numbers (the "
                "second at least the square of the first)."
            )
        for order in range(1, _HIGHEST_ORDER + 1):
            found = _of_order(order, first, second, third)
            # At the bounds of an order, rounding errors are amplified; the next order is equally good.
            if found is not None and np.allclose(found.moments, (first, second, third), rtol=_EXACT, atol=0):
                return found
        # One more than the least order avoids equality, for which the third moment would have to be infinite.
        least = first * first / max(second - first * first, first * first / _HIGHEST_ORDER)
        order = min(int(least) + 1, _HIGHEST_ORDER)
        second = max(second, first * first * (order + 1) / order * _ALMOST)
        raised = second * second * (order + 2) / (first * (order + 1)) * (1 + 1e-3)
        found = _of_order(order, first, second, raised)
        return found or cls(order, 1.0, (order / first, order / first))

    @classmethod
    def fit(cls, values: Sequence[float] | Floats) -> "HyperErlang":
        """Return the distribution with the first three moments of numbers >= 0."""
        data = np.asarray(values, dtype=np.float64)
        if not data.size or not (data >= 0).all() or not data.any():
            raise WorkloadError("values: must be numbers >= 0, at least one of them above 0.")
        return cls.of_moments(*(float(np.mean(data**power)) for power in (1, 2, 3)))

    def moment(self, power: int) -> float:
        """Return the moment of a given order about 0."""
        stages = float(np.prod(np.arange(self.order, self.order + power, dtype=np.float64)))
        first, second = (rate**-power for rate in self.rates)
        return stages * (self.probability * first + (1 - self.probability) * second)

    @property
    def moments(self) -> tuple[float, float, float]:
        """The first three moments about 0."""
        return self.moment(1), self.moment(2), self.moment(3)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.moment(1)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw `count` numbers."""
        rate = np.where(random.random(count) < self.probability, *self.rates)
        return np.asarray(random.gamma(self.order, 1.0, count) / rate, dtype=np.float64)


@dataclass(frozen=True)
class JannClass:
    """The jobs of one range of sizes.

    Parameters
    ----------
    sizes
        The distribution of the numbers of processors; the paper's ranges end at powers of two.
    interval, run_time
        The distributions of the seconds between submissions of this class, and of run times.
    """

    sizes: Distribution
    interval: Distribution
    run_time: Distribution


@dataclass(frozen=True)
class JannModel:
    """The classes of a workload, from small to large jobs."""

    classes: tuple[JannClass, ...]

    def __post_init__(self) -> None:
        if not self.classes:
            raise WorkloadError("classes is empty; a model needs at least one class of jobs.")

    @classmethod
    def fit(cls, workload: Workload) -> "JannModel":
        """Estimate the parameters from a log; ranges of fewer than 4 jobs are merged with a neighbour.

        Raises
        ------
        WorkloadError
            If the log has fewer than 4 jobs, or all are submitted at the same time.
        """
        check_workload(workload)
        size = workload.jobs["tasks"].to_numpy()
        if len(size) < _FEWEST_JOBS:
            rule = "at least 4 are needed to fit the model"
            raise WorkloadError(f"{workload.report.named()}: {len(size)} jobs; {rule}.")
        exponent = np.ceil(np.log2(size)).astype(np.int64)
        classes, taken = [], np.zeros(len(size), dtype=np.bool_)
        for highest in range(int(exponent.max()) + 1):
            chosen = (exponent <= highest) & ~taken
            left = ~taken & ~chosen
            if chosen.sum() >= _FEWEST_JOBS and (left.sum() >= _FEWEST_JOBS or not left.any()):
                taken |= chosen
                classes.append(_class(workload, chosen))
        if not taken.all():
            classes.append(_class(workload, ~taken))
        return cls(tuple(classes))


def jann(jobs: int, model: JannModel, *, seed: int = 0) -> Workload:
    """Generate a workload with the model of Jann et al.

    Parameters
    ----------
    jobs
        Number of jobs, from 1 to 10^9.
    model
        Its parameters, for example from `JannModel.fit`.
    seed
        The same seed generates the same jobs.

    Returns
    -------
    Workload
        Times are whole seconds, run times at least 1. The requested time is the run time, unless
        :func:`estimates` is applied.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule.

    Examples
    --------
    >>> import batchlab as bl
    >>> log = bl.generate.lublin(2000, nodes=64)
    >>> len(jann(500, JannModel.fit(log)))
    500
    """
    jobs = count_of_jobs(jobs)
    tables = [_jobs_of(each, number, jobs, seed) for number, each in enumerate(model.classes)]
    table = pl.concat(tables).sort("submit_time", maintain_order=True).head(jobs)
    table = table.with_columns(
        pl.col("submit_time") - pl.col("submit_time").min(), job_id=pl.int_range(1, jobs + 1, dtype=pl.Int64)
    )
    header = Header.from_fields(
        {
            "Version": "2.2",
            "Computer": "model of Jann et al. 1997",
            "Note": f"made by batchlab's generate.jann with seed {seed}",
        }
    )
    return Workload.from_table(table, resources=(), invalid="raise", header=header)


def _jobs_of(each: JannClass, number: int, jobs: int, seed: int) -> pl.DataFrame:
    run_time = np.maximum(
        np.rint(each.run_time.sample(stream(seed, f"run times of class {number}"), jobs)), 1.0
    )
    intervals = each.interval.sample(stream(seed, f"arrivals of class {number}"), jobs)
    columns = {
        "submit_time": np.floor(np.cumsum(intervals)),
        "run_time": run_time,
        "requested_time": run_time,
        "tasks": each.sizes.sample(stream(seed, f"sizes of class {number}"), jobs).astype(np.int64),
    }
    return pl.DataFrame(columns)


def _class(workload: Workload, chosen: np.ndarray) -> JannClass:
    jobs = workload.jobs.filter(pl.Series(chosen))
    every = workload.jobs["submit_time"].to_numpy()
    period = float(every.max() - every.min())
    if period <= 0:
        raise WorkloadError("workload: all jobs come at once; the model needs intervals between them.")
    intervals = np.diff(np.sort(jobs["submit_time"].to_numpy()))
    return JannClass(
        Empirical(jobs["tasks"].to_numpy()),
        # If all jobs of a range have the same submit time, use the mean interval over the log.
        HyperErlang.fit(intervals if intervals.any() else [period / jobs.height]),
        HyperErlang.fit(np.maximum(run_times(workload, "jann")[chosen], 1.0)),
    )


def _of_order(order: int, first: float, second: float, third: float) -> HyperErlang | None:
    """Solve for the two rates of one order; None without a solution."""
    one, two = first / order, second / (order * (order + 1))
    three = third / (order * (order + 1) * (order + 2))
    spread = two - one * one
    if spread <= 0 or one * three < two * two:
        return None
    half_sum = (three - one * two) / spread / 2
    product = (one * three - two * two) / spread
    root = float(np.sqrt(max(half_sum * half_sum - product, 0.0)))
    large, small = half_sum + root, half_sum - root
    if small <= 0 or large <= small:
        return None
    return HyperErlang(order, min(max((one - small) / (large - small), 0.0), 1.0), (1 / large, 1 / small))
