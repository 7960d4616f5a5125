"""Closed forms: Erlang's formulas, the queue M/M/c, and the queue M/G/1 (Pollaczek and Khinchine)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import SupportsIndex

from batchlab.errors import QueueingError
from batchlab.queueing.conversion import positive, unstable, whole


def erlang_b(load: float, c: SupportsIndex) -> float:
    """Compute the probability that all of c servers are busy, if jobs that arrive then are lost.

    Parameters
    ----------
    load
        The offered load a = λ/μ, in Erlang, >= 0.
    c
        The number of servers.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    QueueingError
        If an argument is invalid.

    Notes
    -----
    B(0) = 1, B(k) = a B(k−1) / (k + a B(k−1)). A. K. Erlang, "Solution of some problems in the theory of
    probabilities of significance in automatic telephone exchanges", 1917.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.queueing.erlang_b(1.0, 1)
    0.5
    """
    offered, lost = positive("load", load, zero=True), 1.0
    for servers in range(1, whole("c", c) + 1):
        lost = offered * lost / (servers + offered * lost)
    return lost


def erlang_c(load: float, c: SupportsIndex) -> float:
    """Compute the probability that a job waits, for c servers with one queue.

    Parameters
    ----------
    load
        The offered load a = λ/μ, in Erlang, >= 0 and below c.
    c
        The number of servers.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    QueueingError
        If an argument is invalid.

    Notes
    -----
    C = c B / (c − a (1 − B)), with Erlang's B.

    Examples
    --------
    >>> import batchlab as bl
    >>> round(bl.queueing.erlang_c(1.5, 2), 12)
    0.642857142857
    """
    lost, servers = erlang_b(load, c), whole("c", c)
    if load >= servers:
        raise unstable("load", load, "c", servers)
    return servers * lost / (servers - load * (1 - lost))


@dataclass(frozen=True)
class MMC:
    """The stationary queue M/M/c.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second.
    service_rate
        μ, jobs per second and server.
    c
        The number of servers.
    """

    arrival_rate: float
    service_rate: float
    c: int

    @property
    def utilisation(self) -> float:
        """ρ = λ / (c μ): the share of busy servers."""
        return self.arrival_rate / (self.c * self.service_rate)

    @property
    def probability_of_waiting(self) -> float:
        """C: the probability that a job waits, Erlang's C."""
        return erlang_c(self.arrival_rate / self.service_rate, self.c)

    @property
    def mean_wait(self) -> float:
        """Wq = C / (c μ − λ), seconds."""
        return self.probability_of_waiting / (self.c * self.service_rate - self.arrival_rate)

    @property
    def mean_turnaround(self) -> float:
        """W = Wq + 1/μ, seconds."""
        return self.mean_wait + 1 / self.service_rate

    @property
    def mean_waiting(self) -> float:
        """Lq = λ Wq: the mean number of waiting jobs (J. D. C. Little, Operations Research 9, 1961)."""
        return self.arrival_rate * self.mean_wait

    @property
    def mean_present(self) -> float:
        """L = λ W: the mean number of jobs waiting or in service."""
        return self.arrival_rate * self.mean_turnaround

    def probability_of_waiting_over(self, seconds: float) -> float:
        """Compute the probability that a job waits longer than a time, under first come, first served.

        Parameters
        ----------
        seconds
            t >= 0.

        Returns
        -------
        float
            C exp(−(c μ − λ) t).
        """
        spare = self.c * self.service_rate - self.arrival_rate
        return self.probability_of_waiting * math.exp(-spare * positive("seconds", seconds, zero=True))


def mmc(arrival_rate: float, service_rate: float, c: SupportsIndex = 1) -> MMC:
    """Compute the measures of the queue M/M/c.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second, > 0.
    service_rate
        μ, jobs per second and server, > 0.
    c
        The number of servers.

    Returns
    -------
    MMC
        Utilisation, probability of waiting, mean times and numbers, and the distribution of the wait.

    Raises
    ------
    QueueingError
        If an argument is invalid, or λ is not below c μ.

    Notes
    -----
    L. Kleinrock, "Queueing Systems", volume 1, 1975, section 3.5.

    Examples
    --------
    >>> import batchlab as bl
    >>> queue = bl.queueing.mmc(0.9, 1.0)
    >>> round(queue.mean_wait, 9), round(queue.mean_present, 9)
    (9.0, 9.0)
    """
    rate, service = positive("arrival_rate", arrival_rate), positive("service_rate", service_rate)
    servers = whole("c", c)
    if rate >= servers * service:
        raise unstable("arrival_rate", rate, "c x service_rate", servers * service)
    return MMC(rate, service, servers)


_ROUNDING = 1e-12


@dataclass(frozen=True)
class MG1:
    """The stationary queue M/G/1 under first come, first served.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second.
    mean_service
        E[S], seconds.
    second_moment
        E[S²], seconds squared.
    """

    arrival_rate: float
    mean_service: float
    second_moment: float

    @property
    def utilisation(self) -> float:
        """ρ = λ E[S]: the share of time during which the server is busy."""
        return self.arrival_rate * self.mean_service

    @property
    def mean_wait(self) -> float:
        """Wq = λ E[S²] / (2 (1 − ρ)), seconds."""
        return self.arrival_rate * self.second_moment / (2 * (1 - self.utilisation))

    @property
    def mean_turnaround(self) -> float:
        """W = Wq + E[S], seconds."""
        return self.mean_wait + self.mean_service

    @property
    def mean_waiting(self) -> float:
        """Lq = λ Wq: the mean number of waiting jobs."""
        return self.arrival_rate * self.mean_wait

    @property
    def mean_present(self) -> float:
        """L = λ W: the mean number of jobs waiting or in service."""
        return self.arrival_rate * self.mean_turnaround


def mg1(arrival_rate: float, mean_service: float, second_moment: float) -> MG1:
    """Compute the measures of the queue M/G/1 by the Pollaczek–Khinchine formula.

    Parameters
    ----------
    arrival_rate
        λ, jobs per second, > 0.
    mean_service
        E[S], seconds, > 0.
    second_moment
        E[S²] = variance + E[S]², seconds squared, at least the square of the mean.

    Returns
    -------
    MG1
        Utilisation, mean times and numbers.

    Raises
    ------
    QueueingError
        If an argument is invalid, or λ E[S] is not below 1.

    Notes
    -----
    F. Pollaczek, Mathematische Zeitschrift 32, 1930; A. Y. Khinchine, Matematicheskii Sbornik 39, 1932. If
    every job needs all servers, the multiserver-job queue is an M/G/1 queue.

    Examples
    --------
    >>> import batchlab as bl
    >>> round(bl.queueing.mg1(0.8, 1.0, 1.0).mean_wait, 9)
    2.0
    """
    rate, mean = positive("arrival_rate", arrival_rate), positive("mean_service", mean_service)
    square = positive("second_moment", second_moment)
    if square < mean * mean * (1 - _ROUNDING):
        raise QueueingError(
            f"second_moment = {square:g}; must be at least mean_service² = {mean * mean:g}. "
            "It is the variance plus that."
        )
    if rate * mean >= 1:
        raise unstable("arrival_rate x mean_service", rate * mean, "the capacity of the server", 1)
    return MG1(rate, mean, square)
