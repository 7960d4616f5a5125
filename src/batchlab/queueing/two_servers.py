"""The multiserver-job queue with two servers: some jobs need one server, others both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from batchlab.errors import QueueingError, shown
from batchlab.queueing.chains import stationary, with_tail
from batchlab.queueing.checks import Floats, positive, probability, unstable

__all__ = ["TwoServers", "max_throughput", "simultaneous_two_servers"]

_EXACT = 4 * np.finfo(np.float64).eps
_MARGIN = 1e-12


@dataclass(frozen=True)
class TwoServers:
    """The stationary two-server queue with simultaneous service.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second.
    max_throughput
        The arrival rate below which the queue is stable, jobs per second.
    mean_waiting
        The mean number of waiting jobs.
    mean_present
        The mean number of jobs waiting or in service.
    probability_of_empty
        The share of time without jobs.
    """

    arrival_rate: float
    max_throughput: float
    mean_waiting: float
    mean_present: float
    probability_of_empty: float

    @property
    def mean_wait(self) -> float:
        """Wq, the mean time from arrival to start, seconds: the mean number of waiting jobs over λ."""
        return self.mean_waiting / self.arrival_rate

    @property
    def mean_turnaround(self) -> float:
        """The mean time from arrival to end, seconds."""
        return self.mean_present / self.arrival_rate


def simultaneous_two_servers(
    arrival_rate: float, p1: float, service_rates: tuple[float, float]
) -> TwoServers:
    """Compute the measures of two servers under first come, first served, if some jobs need both.

    Parameters
    ----------
    arrival_rate
        λ of the Poisson arrivals, jobs per second, > 0.
    p1
        The probability that a job needs one server; otherwise it needs both.
    service_rates
        μ1 and μ2, > 0, of the exponential service times of jobs that need one server and both, per second.

    Returns
    -------
    TwoServers
        Mean wait, mean numbers, the probability of an empty system.

    Raises
    ------
    QueueingError
        If an argument is invalid, or λ is not below the maximum throughput.

    Notes
    -----
    The chain of (number of jobs present, jobs in service: two with one server each, one with both, or one
    with one server before a head that needs both) is a quasi-birth-death process, solved exactly. Stable if
    λ < 1 / (p2/μ2 + (p1/μ1) (1 − p1/2)), p2 = 1 − p1: A. Rumyantsev and E. Morozov, "Stability criterion of a
    multiserver model with simultaneous service", Ann. Oper. Res. 252, 2017.

    Examples
    --------
    >>> import batchlab as bl
    >>> queue = bl.queueing.simultaneous_two_servers(0.5, 0.5, (1.0, 1.0))
    >>> round(queue.mean_wait, 9), round(queue.probability_of_empty, 9)
    (0.700662931, 0.528918068)
    """
    rate, narrow = positive("arrival_rate", arrival_rate), probability("p1", p1)
    mu1, mu2 = _two("service_rates", service_rates)
    most = 1 / ((1 - narrow) / mu2 + narrow / mu1 * (1 - narrow / 2))
    if rate >= most:
        raise unstable("arrival_rate", rate, "the throughput that is possible", most)
    up, local, down = rate * np.eye(3), np.zeros((3, 3)), _departures(narrow, mu1, mu2)
    edge, tail = with_tail(_few_jobs(rate, narrow, mu1, mu2), up, local, down)
    pairs, above = tail.sums, float(tail.weighted_sums.sum())
    # Of n jobs, n - 2 wait if two are in service, otherwise n - 1; level 0 of the tail has two jobs.
    waiting = above + float(pairs[1] + pairs[2])
    present = above + 2 * float(pairs.sum()) + float(edge[1] + edge[2])
    return TwoServers(rate, most, waiting, present, float(edge[0]))


def _departures(p1: float, mu1: float, mu2: float) -> Floats:
    """Rates between: two narrow jobs; a wide job; a narrow job before a wide head; with many waiting jobs."""
    p2 = 1 - p1
    return np.array(
        [
            [2 * mu1 * p1, 0.0, 2 * mu1 * p2],
            [mu2 * p1 * p1, mu2 * p2, mu2 * p1 * p2],
            [0.0, mu1, 0.0],
        ]
    )


def _few_jobs(rate: float, p1: float, mu1: float, mu2: float) -> Floats:
    """Rates between: no job; a job on one server; a job on both; the three phases with two jobs."""
    p2 = 1 - p1
    rates = np.zeros((6, 6))
    rates[0, 1], rates[0, 2] = rate * p1, rate * p2
    rates[1, 0], rates[1, 3], rates[1, 5] = mu1, rate * p1, rate * p2
    rates[2, 0], rates[2, 4] = mu2, rate
    rates[3, 1] = 2 * mu1
    rates[4, 1], rates[4, 2] = mu2 * p1, mu2 * p2
    rates[5, 2] = mu1
    return rates


def max_throughput(
    p1: float,
    service_rates: tuple[float, float],
    speeds: tuple[float, float] = (1.0, 1.0),
    *,
    up: float = 0.0,
    down: float = 0.0,
) -> float:
    """Compute the maximum stable arrival rate of the two-server queue with two random speeds.

    Parameters
    ----------
    p1
        The probability that a job needs one server; otherwise it needs both.
    service_rates
        μ1 and μ2, > 0: the work of jobs that need one server or both is exponential with these rates, per
        unit of work.
    speeds
        f1 and f2, 0 < f1 <= f2: units of work per second at low and at high speed.
    up
        The probability that an arrival switches to the high speed.
    down
        The probability that a departure switches to the low speed. If `up` is 0, the speed is always low.

    Returns
    -------
    float
        Jobs per second.

    Raises
    ------
    QueueingError
        If an argument is invalid.

    Notes
    -----
    In a system with an unlimited supply of waiting jobs, the chain of (jobs in service, speed) is finite. Its
    throughput X depends on the rate λ of arrivals that switch the speed; the boundary satisfies λ = X(λ).
    Agrees with `MaxThroughput2` of R's hpcwld 0.6-5, and is also correct for p1 = 0 and p1 = 1.

    Examples
    --------
    >>> import batchlab as bl
    >>> round(bl.queueing.max_throughput(0.5, (1.0, 2.0)), 9)
    1.6
    >>> round(bl.queueing.max_throughput(0.5, (1.0, 2.0), (1.0, 2.0), up=0.5, down=0.5), 9)
    2.275999989
    """
    narrow, (low, high) = probability("p1", p1), _two("speeds", speeds)
    p_up, p_down = probability("up", up), probability("down", down)
    if low > high:
        raise QueueingError(f"speeds = {shown(speeds)}; the low one, not above the high, comes first.")
    departures = _departures(narrow, *_two("service_rates", service_rates))
    at_speed_1 = float(stationary(departures) @ departures.sum(axis=1))
    if low == high or p_up == 0 or p_down == 0:
        return at_speed_1 * (low if p_up == 0 else high)
    chances = p_up, p_down

    def surplus(rate: float) -> float:
        return _throughput(rate, departures, (low, high), chances) - rate

    # The root may be next to an end of the interval, where rounding decides the sign.
    least, most = low * at_speed_1 * (1 - _MARGIN), high * at_speed_1 * (1 + _MARGIN)
    return float(brentq(surplus, least, most, xtol=_EXACT * least, rtol=_EXACT))


def _throughput(
    rate: float, departures: Floats, speeds: tuple[float, float], chances: tuple[float, float]
) -> float:
    """Return the throughput of a system with unlimited waiting jobs, if arrivals switch at this rate."""
    (low, high), (p_up, p_down) = speeds, chances
    switched = rate * p_up * np.eye(len(departures))
    rates = np.block(
        [[low * departures, switched], [high * p_down * departures, high * (1 - p_down) * departures]]
    )
    leaving = departures.sum(axis=1)
    return float(stationary(rates) @ np.concatenate([low * leaving, high * leaving]))


def _two(name: str, values: object) -> tuple[float, float]:
    if isinstance(values, tuple | list) and len(values) == 2:  # noqa: PLR2004  # of either kind of job
        return positive(f"{name}[0]", values[0]), positive(f"{name}[1]", values[1])
    raise QueueingError(f"{name} = {shown(values)}; must be two numbers.")
