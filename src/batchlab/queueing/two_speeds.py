"""The queue M/M/1 with two speeds of the server, switched by the number of jobs or at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from batchlab.errors import QueueingError, shown
from batchlab.queueing.chains import with_tail
from batchlab.queueing.checks import Floats, positive, probability, unstable, whole

__all__ = ["TwoSpeedMM1", "two_speed_mm1"]

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
