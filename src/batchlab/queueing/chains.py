"""Continuous-time Markov chains, and two queues solved by them.

The multiserver-job queue with two servers, in which some jobs need one server and others both; and the queue
M/M/1 with two speeds of the server, switched by the number of jobs or at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, SupportsIndex

import numpy as np
from scipy.optimize import brentq

from batchlab.errors import QueueingError, shown
from batchlab.queueing.conversion import Floats, positive, probability, unstable, whole

_ENOUGH = 1e-16
_MOST_STEPS = 64


class Tail(NamedTuple):
    """Levels 0, 1, … of a queue, with probabilities ``first @ R**i`` of level i."""

    first: Floats
    rate_matrix: Floats

    @property
    def sums(self) -> Floats:
        """Shape (phases,): the probability of each phase, summed over all levels."""
        return _solved(np.eye(len(self.first)) - self.rate_matrix, self.first)

    @property
    def weighted_sums(self) -> Floats:
        """Shape (phases,): the same sum, with each level's probabilities weighted by its number 0, 1, …."""
        back = np.eye(len(self.first)) - self.rate_matrix
        return _solved(back, self.sums @ self.rate_matrix)


def stationary(rates: Floats) -> Floats:
    """Compute the stationary distribution of a chain.

    Parameters
    ----------
    rates
        Shape (states, states): transition rates from the row's state to the column's, per second. The
        diagonal is ignored. The same set of recurrent states must be reachable from each state.

    Returns
    -------
    numpy.ndarray
        Shape (states,): probabilities.
    """
    return _balanced(rates, np.ones(len(rates)))


def with_tail(boundary: Floats, up: Floats, local: Floats, down: Floats) -> tuple[Floats, Tail]:
    """Compute the stationary distribution of a queue with repeating levels.

    Parameters
    ----------
    boundary
        Shape (b + phases, b + phases): rates between the boundary states and the phases of level 0.
    up, local, down
        As for `rate_matrix`, for the levels 0, 1, ….

    Returns
    -------
    tuple
        The probabilities of the b boundary states; and the levels.
    """
    matrix, phases = rate_matrix(up, local, down), len(up)
    # Observed at levels up to 0 only, the queue returns from level 1 at the rates R A2.
    rates = boundary.copy()
    rates[-phases:, -phases:] += matrix @ down
    sums = np.linalg.solve(np.eye(phases) - matrix, np.ones(phases))
    found = _balanced(rates, np.concatenate([np.ones(len(rates) - phases), sums]))
    return found[:-phases], Tail(found[-phases:], matrix)


def _balanced(rates: Floats, weights: Floats) -> Floats:
    """Solve x G = 0 and x · weights = 1. G has these rates off its diagonal, and rows with sum 0."""
    away = rates - np.diag(np.diag(rates))
    generator = away - np.diag(away.sum(axis=1))
    # The balance equations are linearly dependent, so one of them is replaced.
    generator[:, 0] = weights
    wanted = np.zeros(len(rates))
    wanted[0] = 1.0
    return _solved(generator, wanted)


def rate_matrix(up: Floats, local: Floats, down: Floats) -> Floats:
    """Compute R, which maps the probabilities of a level to the probabilities of the next level.

    Parameters
    ----------
    up, local, down
        Shape (phases, phases): transition rates to the next level, within a level, and to the level below,
        per second. The diagonal of `local` is ignored.

    Returns
    -------
    numpy.ndarray
        Shape (phases, phases): the minimal non-negative solution of A0 + R A1 + R² A2 = 0.

    Notes
    -----
    Logarithmic reduction: G. Latouche and V. Ramaswami, "A logarithmic reduction algorithm for
    quasi-birth-death processes", J. Appl. Probab. 30, 1993.
    """
    size = len(up)
    away = local - np.diag(np.diag(local))
    leaving = (up + away + down).sum(axis=1)
    inner = np.diag(leaving) - away
    higher, lower = np.linalg.solve(inner, up), np.linalg.solve(inner, down)
    first_passage, factor = lower.copy(), higher.copy()
    for _ in range(_MOST_STEPS):
        both = np.eye(size) - higher @ lower - lower @ higher
        higher, lower = np.linalg.solve(both, higher @ higher), np.linalg.solve(both, lower @ lower)
        first_passage += factor @ lower
        factor = factor @ higher
        if np.abs(factor).max() < _ENOUGH:
            break
    return _solved(inner - up @ first_passage, up)


def _solved(matrix: Floats, rows: Floats) -> Floats:
    """Solve x M = rows."""
    return np.asarray(np.linalg.solve(matrix.T, rows.T).T, dtype=np.float64)


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


Pair = tuple[float, float]

_ORDER = "the low one comes first, and is not above the high one"


@dataclass(frozen=True)
class TwoSpeedMM1:
    """The stationary queue M/M/1 with two speeds.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second.
    mean_present
        The mean number of jobs waiting or in service.
    busy
        The shares of time with a job in service, at low and at high speed.
    idle
        The shares of time without jobs, at low and at high speed.
    """

    arrival_rate: float
    mean_present: float
    busy: Pair
    idle: Pair

    @property
    def high_share(self) -> float:
        """The share of time at high speed, with or without jobs."""
        return self.busy[1] + self.idle[1]

    @property
    def probability_of_empty(self) -> float:
        """The share of time without jobs."""
        return sum(self.idle)

    @property
    def mean_turnaround(self) -> float:
        """The mean time from arrival to end, seconds: the mean number present over λ."""
        return self.mean_present / self.arrival_rate

    def mean_power(self, busy: Pair, idle: Pair) -> float:
        """Compute the mean power.

        Parameters
        ----------
        busy, idle
            The power with and without a job in service, at low and at high speed, watts.

        Returns
        -------
        float
            Watts.
        """
        shares, watts = (*self.busy, *self.idle), (*busy, *idle)
        return sum(share * power for share, power in zip(shares, watts, strict=True))


def two_speed_mm1(
    arrival_rate: float,
    service_rates: Pair,
    *,
    count: tuple[SupportsIndex, SupportsIndex] | None = None,
    random: Pair | None = None,
) -> TwoSpeedMM1:
    """Compute the measures of the queue M/M/1 with two server speeds by solving its Markov chain exactly.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second, > 0.
    service_rates
        μL and μH, jobs per second at low and at high speed, 0 < μL <= μH.
    count
        k_L and k_H, 0 <= k_L <= k_H: an arrival that finds k_H jobs at low speed switches to high speed, and
        a departure that leaves k_L jobs switches to low speed.
    random
        p_up and p_down: an arrival switches to high speed with the first probability, and a departure to low
        speed with the second. Exactly one of `count` and `random` must be given.

    Returns
    -------
    TwoSpeedMM1
        Mean numbers and times, shares of time, mean power.

    Raises
    ------
    QueueingError
        If an argument is invalid, the speed can never change, or the queue grows without bound.

    Notes
    -----
    Under `count`, the chain has the states (number of jobs, speed); above k_H it equals M/M/1 at high speed.
    Under `random`, it is a quasi-birth-death process with two phases (M. F. Neuts, "Matrix-Geometric
    Solutions in Stochastic Models", 1981); it is stable if λ < αL μL + αH μH with
    αH = λ p_up / (λ p_up + μH p_down) = 1 − αL. An empty system keeps its speed.

    Examples
    --------
    >>> import batchlab as bl
    >>> queue = bl.queueing.two_speed_mm1(0.5, (1.0, 2.0), count=(1, 3))
    >>> round(queue.mean_present, 6), round(queue.high_share, 6)
    (0.74359, 0.038462)
    >>> round(queue.mean_power(busy=(1.0, 3.0), idle=(0.5, 0.6)), 6)
    0.807692
    """
    rate = positive("arrival_rate", arrival_rate)
    low, high = (positive("service_rates", each) for each in _pair("service_rates", service_rates))
    if low > high:
        raise QueueingError(f"service_rates = {shown(service_rates)}; {_ORDER}.")
    if (count is None) == (random is None):
        raise QueueingError("count and random: exactly one of them must be given.")
    if count is not None:
        return _by_count(rate, (low, high), _thresholds(count))
    up, down = (probability("random", each) for each in _pair("random", random))
    return _by_chance(rate, (low, high), (up, down))


def _pair(name: str, values: object) -> tuple[float, float]:
    if isinstance(values, tuple | list) and len(values) == 2:  # noqa: PLR2004  # low and high
        return values[0], values[1]
    raise QueueingError(f"{name} = {shown(values)}; must be two values, as a tuple.")


def _thresholds(count: object) -> tuple[int, int]:
    lower, upper = (whole("count", each, 0) for each in _pair("count", count))  # type: ignore[arg-type]  # checked there
    if lower > upper:
        raise QueueingError(f"count = {shown(count)}; {_ORDER}.")
    return lower, upper


def _by_count(rate: float, speeds: Pair, thresholds: tuple[int, int]) -> TwoSpeedMM1:
    """Solve the chain of 0, …, k_H jobs at low speed, and k_L + 1, … at high speed."""
    (low, high), (lower, upper) = speeds, thresholds
    if rate >= high:
        raise unstable("arrival_rate", rate, "the high service rate", high)
    first_high, span = upper + 1, upper - lower + 1
    rates = np.zeros((first_high + span, first_high + span))
    lows, highs = np.arange(upper), first_high + np.arange(span - 1)
    rates[lows, lows + 1], rates[lows + 1, lows] = rate, low
    rates[highs, highs + 1], rates[highs + 1, highs] = rate, high
    rates[upper, -1], rates[first_high, lower] = rate, high
    edge, tail = with_tail(rates, *(np.array([[each]]) for each in (rate, 0.0, high)))
    present = np.concatenate([np.arange(upper + 1), np.arange(lower + 1, upper + 1)])
    above = tail.sums.item()
    mean = float(edge @ present) + (upper + 1) * above + tail.weighted_sums.item()
    busy = float(edge[1:first_high].sum()), float(edge[first_high:].sum()) + above
    return TwoSpeedMM1(rate, mean, busy, (float(edge[0]), 0.0))


def _by_chance(rate: float, speeds: Pair, chances: Pair) -> TwoSpeedMM1:
    (low, high), (p_up, p_down) = speeds, chances
    if p_up == p_down == 0:
        raise QueueingError("random = (0, 0): the speed never changes. Use mmc for a queue with one speed.")
    share = rate * p_up / (rate * p_up + high * p_down)
    capacity = (1 - share) * low + share * high
    if rate >= capacity:
        raise unstable("arrival_rate", rate, "the mean service rate", capacity)
    up = rate * np.array([[1 - p_up, p_up], [0.0, 1.0]])
    down = np.array([[low, 0.0], [high * p_down, high * (1 - p_down)]])
    none: Floats = np.zeros((2, 2))
    edge, tail = with_tail(np.block([[none, up], [down, none]]), up, none, down)
    busy, mean = tail.sums, float(tail.sums.sum() + tail.weighted_sums.sum())
    return TwoSpeedMM1(rate, mean, (float(busy[0]), float(busy[1])), (float(edge[0]), float(edge[1])))
