"""Erlang's formulas, and the queue M/M/c: Poisson arrivals, exponential service, c servers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import SupportsIndex

from batchlab.queueing.checks import positive, unstable, whole

__all__ = ["MMC", "erlang_b", "erlang_c", "mmc"]


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
