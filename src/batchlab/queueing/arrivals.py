"""Arrival processes: renewal, Markov-modulated Poisson, a daily cycle, a log's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, SupportsIndex, runtime_checkable

import numpy as np

from batchlab.core.arguments import checked
from batchlab.core.distributions import Distribution, distribution_of
from batchlab.core.units import format_count
from batchlab.errors import QueueingError, shown
from batchlab.queueing.chains import stationary
from batchlab.queueing.conversion import Floats, numbers, positive, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.workload import Workload


_DAY = 86_400.0
_MOST = 10**9


@runtime_checkable
class ArrivalProcess(Protocol):
    """A process that can be sampled for arrivals."""

    def sample(self, n: SupportsIndex, rng: np.random.Generator) -> Floats:
        """Return the times of the first n arrivals, seconds, ascending.

        Parameters
        ----------
        n
            The number of arrivals.
        rng
            The random generator; equal states result in equal arrivals.

        Returns
        -------
        numpy.ndarray
            Shape (n,): seconds since the beginning.
        """
        ...


@runtime_checkable
class IntervalDistribution(Protocol):
    """A distribution of times between arrivals, such as a frozen distribution of `scipy.stats`."""

    def rvs(self, *, size: int, random_state: np.random.Generator) -> object:
        """Return `size` independent values."""
        ...


@dataclass(frozen=True)
class Renewal:
    """Arrivals with independent times between them; see `renewal`.

    Parameters
    ----------
    distribution
        Distribution of the seconds between two arrivals, and before the first.
    """

    distribution: IntervalDistribution | Distribution

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, IntervalDistribution | Distribution):
            raise QueueingError(
                f"distribution = {shown(self.distribution)}; must be the spec of one, as 'expon(mean=60)', "
                "or have a method sample or rvs, as scipy.stats.expon(scale=60)."
            )

    def sample(self, n: SupportsIndex, rng: np.random.Generator) -> Floats:
        """Return the times of the first n arrivals, seconds; see `ArrivalProcess.sample`."""
        if isinstance(self.distribution, IntervalDistribution):
            values = self.distribution.rvs(size=_count(n), random_state=rng)
        else:
            values = self.distribution.sample(rng, _count(n))
        gaps = np.asarray(values, dtype=np.float64)
        broken = np.flatnonzero(~((gaps >= 0) & np.isfinite(gaps)))
        if len(broken):
            raise QueueingError(
                f"distribution: {gaps[broken[0]]:g} s between two arrivals; must be finite and >= 0. "
                "Choose a distribution of positive values."
            )
        return np.cumsum(gaps)


def renewal(distribution: IntervalDistribution | Distribution | str) -> Renewal:
    """Build an arrival process with independent, identically distributed times between arrivals.

    Parameters
    ----------
    distribution
        Distribution of the seconds between two arrivals, and before the first, all >= 0: a spec as for
        overheads, a distribution of `batchlab.generate`, or a frozen one of `scipy.stats`.

    Returns
    -------
    Renewal
        A process with ``sample(n, rng)``.

    Raises
    ------
    QueueingError
        If it cannot be sampled, or (when sampled) a value is below 0.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> poisson = bl.queueing.renewal("expon(mean=60)")
    >>> poisson.sample(3, np.random.default_rng(0)).round(1).tolist()
    [40.8, 102.0, 103.2]
    """
    if isinstance(distribution, str):
        distribution = distribution_of(distribution, QueueingError)
    return Renewal(distribution)


@dataclass(frozen=True)
class MarkovModulated:
    """Poisson arrivals with a rate that follows a Markov chain; see `mmpp`.

    Parameters
    ----------
    rates
        The arrival rate in each state, per second.
    generator
        The transition rates from each state (row) to each other state, per second.
    """

    rates: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]

    @property
    def stationary(self) -> Floats:
        """Shape (states,): the share of time in each state, and the distribution of the initial state."""
        return stationary(np.array(self.generator))

    @property
    def mean_rate(self) -> float:
        """The mean number of arrivals per second."""
        return float(self.stationary @ np.array(self.rates))

    def sample(self, n: SupportsIndex, rng: np.random.Generator) -> Floats:
        """Return the times of the first n arrivals, seconds; see `ArrivalProcess.sample`."""
        count, rates = _count(n), np.array(self.rates)
        leaving = [sum(row) for row in self.generator]
        state = int(rng.choice(len(rates), p=np.clip(self.stationary, 0, None) / self.stationary.sum()))
        now, there, times = 0.0, 0, []
        while there < count:
            stay = rng.exponential(1 / leaving[state]) if leaving[state] else np.inf
            # Draw no more than the remaining number, even for a long stay.
            found = now + _poisson(rates[state], stay, count - there, rng)
            times.append(found)
            now, there = now + stay, there + len(found)
            if leaving[state]:
                state = int(rng.choice(len(rates), p=np.array(self.generator[state]) / leaving[state]))
        return np.concatenate(times) if times else np.empty(0)


def _poisson(rate: float, length: float, most: int, rng: np.random.Generator) -> Floats:
    """Return the first arrivals at a rate within a time span, from its beginning."""
    if rate == 0:
        return np.empty(0)
    if rate * length > most:
        times = np.cumsum(rng.exponential(1 / rate, most))
        return times[times < length]
    inside: Floats = np.sort(rng.uniform(0.0, length, rng.poisson(rate * length)))
    return inside[:most]


@checked(QueueingError)
def mmpp(rates: Sequence[float], generator: Sequence[Sequence[float]]) -> MarkovModulated:
    """Build a Markov-modulated Poisson process, with bursts and calm periods.

    Parameters
    ----------
    rates
        Shape (states,): the arrival rate in each state, per second, >= 0, not all 0.
    generator
        Shape (states, states): transition rates from the row's state to the column's, per second, >= 0. The
        diagonal is ignored. Each state must be reachable from every other state.

    Returns
    -------
    MarkovModulated
        A process with ``sample(n, rng)``; its initial state has the chain's stationary distribution.

    Raises
    ------
    QueueingError
        If a rate or a shape is invalid.

    Notes
    -----
    W. Fischer and K. Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", Performance
    Evaluation 18, 1993.

    Examples
    --------
    >>> import batchlab as bl
    >>> bursts = bl.queueing.mmpp([0.1, 0.001], [[0, 1 / 600], [1 / 5400, 0]])
    >>> round(bursts.mean_rate, 6)
    0.0109
    """
    given = tuple(positive(f"rates[{state}]", rate, zero=True) for state, rate in enumerate(rates))
    states = len(given)
    if not any(given):
        raise QueueingError(f"rates = {shown(rates)}; at least one must be above 0.")
    if len(generator) != states or any(len(row) != states for row in generator):
        raise QueueingError(f"generator = {shown(generator)}; must have {states} rows and columns, as rates.")
    rows = tuple(
        tuple(
            0.0 if here == there else positive(f"generator[{here}][{there}]", rate, zero=True)
            for there, rate in enumerate(row)
        )
        for here, row in enumerate(generator)
    )
    steps = np.linalg.matrix_power((np.array(rows) > 0) + np.eye(states), states)
    if not (steps > 0).all():
        here, there = (int(each[0]) for each in np.nonzero(steps == 0))
        raise QueueingError(f"generator: no way leads from state {here} to {there}; each must lead to all.")
    return MarkovModulated(given, rows)


@dataclass(frozen=True)
class DailyCycle:
    """Poisson arrivals with a rate that depends on the time of day; see `daily_cycle`.

    Parameters
    ----------
    base
        Arrivals per second if the profile is 1.
    profile
        Factor of the rate in each of the equal parts of a day.
    """

    base: float
    profile: tuple[float, ...]

    @property
    def mean_rate(self) -> float:
        """The mean number of arrivals per second over a day."""
        return self.base * sum(self.profile) / len(self.profile)

    def sample(self, n: SupportsIndex, rng: np.random.Generator) -> Floats:
        """Return the times of the first n arrivals, seconds since a midnight; see `ArrivalProcess.sample`."""
        count, profile = _count(n), np.array(self.profile)
        peak, parts = profile.max(), len(self.profile)
        times, there, now = [], 0, 0.0
        while there < count:
            # The expected number of candidates, and some more.
            wanted = int((count - there) * peak / profile.mean() * 1.1) + 16
            candidates = now + np.cumsum(rng.exponential(1 / (self.base * peak), wanted))
            now = candidates[-1]
            part = np.minimum(candidates % _DAY / _DAY * parts, parts - 1).astype(np.int64)
            kept = candidates[rng.uniform(0.0, peak, wanted) < profile[part]]
            times.append(kept)
            there += len(kept)
        return np.concatenate(times)[:count] if times else np.empty(0)


@checked(QueueingError)
def daily_cycle(base: float, profile: Sequence[float]) -> DailyCycle:
    """Build Poisson arrivals with a daily cycle of the rate.

    Parameters
    ----------
    base
        Arrivals per second if the profile is 1, > 0.
    profile
        Shape (parts,): factor of the rate in each of the equal parts of a day, e.g. 24 factors for its hours;
        >= 0, not all 0. If their mean is 1, `base` is the mean rate.

    Returns
    -------
    DailyCycle
        A process with ``sample(n, rng)``; it begins at midnight.

    Raises
    ------
    QueueingError
        If an argument is invalid.

    Notes
    -----
    Arrivals at the maximum rate are thinned: P. A. W. Lewis and G. S. Shedler, "Simulation of nonhomogeneous
    Poisson processes by thinning", Naval Research Logistics Quarterly 26, 1979.

    Examples
    --------
    >>> import batchlab as bl
    >>> cycle = bl.queueing.daily_cycle(0.01, [0.2] * 8 + [1.8] * 10 + [0.5] * 6)
    >>> round(cycle.mean_rate, 6)
    0.009417
    """
    factors = tuple(positive(f"profile[{part}]", each, zero=True) for part, each in enumerate(profile))
    if not any(factors):
        raise QueueingError(f"profile = {shown(profile)}; at least one part must be above 0.")
    return DailyCycle(positive("base", base), factors)


@dataclass(frozen=True, eq=False)
class LogArrivals:
    """The arrivals of a log; see `from_log`.

    Parameters
    ----------
    times
        Shape (jobs,): seconds since the first, ascending.
    random_start
        True if a sample begins at a random job and wraps around the log.
    """

    times: Floats
    random_start: bool = False

    def sample(self, n: SupportsIndex, rng: np.random.Generator) -> Floats:
        """Return the times of the first n arrivals, seconds; see `ArrivalProcess.sample`."""
        count, jobs = _count(n), len(self.times)
        if not self.random_start:
            if count > jobs:
                raise QueueingError(
                    f"n = {count}; must not exceed the {format_count(jobs, 'job')} of the log. "
                    "Pass random_start=True to go round it."
                )
            return self.times[:count].copy()
        # Use the mean interarrival time between the last job and the first one of the next turn.
        last = self.times[-1] / (jobs - 1) if jobs > 1 else 0.0
        rows = int(rng.integers(jobs)) + np.arange(count)
        turns = (self.times[-1] + last) * (rows // jobs)
        found: Floats = self.times[rows % jobs] + turns
        return found - found[:1]


def from_log(workload: Workload | npt.ArrayLike, *, random_start: bool = False) -> LogArrivals:
    """Use the arrivals of a log unchanged.

    Parameters
    ----------
    workload
        The log, or its submit times, seconds, ascending.
    random_start
        By default, a sample is the first n arrivals, equal in each replication. With True, a sample begins at
        a random job and wraps around the log, so that replications differ but dependences in the log are
        kept.

    Returns
    -------
    LogArrivals
        A process with ``sample(n, rng)``; the first arrival is at 0.

    Raises
    ------
    QueueingError
        If the log has no job, or times are not ascending.
    """
    from batchlab.workload import Workload  # noqa: PLC0415  # needs polars, which processes by hand do not

    given = workload.jobs["submit_time"].to_numpy() if isinstance(workload, Workload) else workload
    times = numbers("workload", given)
    if not len(times):
        raise QueueingError("workload has no job; arrivals need one at least.")
    broken = np.flatnonzero(~(np.diff(times) >= 0))
    if len(broken) or not np.isfinite(times).all():
        row = int(broken[0]) + 1 if len(broken) else 0
        raise QueueingError(f"workload: row {row} comes at {times[row]:g} s; must be finite and ascending.")
    return LogArrivals(times - times[0], random_start)


def _count(n: SupportsIndex) -> int:
    count = whole("n", n, 0)
    if count > _MOST:
        raise QueueingError(f"n = {count}; must be at most 10^9.")
    return count
