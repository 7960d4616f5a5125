"""The multiserver-job queue, first come, first served: delays by recursion, throughput, stability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from batchlab import _kernel
from batchlab.errors import QueueingError
from batchlab.queueing.conversion import Floats, numbers, positive, whole, whole_numbers
from batchlab.queueing.intervals import Interval, interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.queueing.conversion import Integers

    Columns = dict[str, Floats | Integers]


def delays(
    arrival: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike, c: SupportsIndex
) -> Floats:
    """Compute the waits of jobs served first come, first served, each on several servers at once.

    The jobs wait in one queue with head-of-line blocking: no job starts before the one ahead of it.

    Parameters
    ----------
    arrival
        Shape (jobs,): the arrival of each job, seconds, ascending.
    service
        Shape (jobs,): the service time of each job, seconds, >= 0.
    servers
        Shape (jobs,): the number of servers that each job needs at once, from 1 to c; or one number for all.
    c
        The number of servers.

    Returns
    -------
    numpy.ndarray
        Shape (jobs,): start minus arrival, seconds. Exact if arrivals and service times are integers.

    Raises
    ------
    QueueingError
        If the columns differ in length, or a job has an invalid value.

    Notes
    -----
    Let F1 ≤ … ≤ Fc be the times at which the servers become free. A job starts at max(arrival, FN), and its
    end replaces F1, …, FN: the recursion of J. Kiefer and J. Wolfowitz, "On the theory of queues with many
    servers", Trans. Amer. Math. Soc. 78, 1955, for simultaneous service (A. Rumyantsev, "Simulating
    Supercomputer Workload with hpcwld package for R", PDCAT 2014). O(log c) per job, amortised, and O(c)
    memory in addition to the columns; the GIL is released.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.queueing.delays([0, 1, 2], [4, 3, 2], [2, 3, 1], c=4).tolist()
    [0.0, 3.0, 2.0]
    """
    count = whole("c", c)
    arrivals, services = numbers("arrival", arrival), numbers("service", service)
    needed = _servers(servers, len(arrivals))
    if not len(arrivals) == len(services) == len(needed):
        raise QueueingError(
            f"arrival has {len(arrivals)} rows, service {len(services)}, servers {len(needed)}; "
            "each must have one row for each job."
        )
    try:
        return _kernel.delays(arrivals, services, needed, count)
    except ValueError as error:
        row, rule = error.args
        columns: Columns = {"arrival": arrivals, "service": services, "servers": needed}
        raise QueueingError(_broken(row, rule, columns, count)) from None


def _servers(servers: npt.ArrayLike, jobs: int) -> Integers:
    if np.ndim(servers) == 0:
        return np.full(jobs, whole("servers", servers), dtype=np.int64)  # type: ignore[arg-type]  # a number
    return whole_numbers("servers", servers)


def _broken(row: int, rule: str, columns: Columns, c: int) -> str:
    """Format the error of an invalid value."""
    name = {"order": "arrival", "late": "service"}.get(rule, rule)
    value = columns[name][row]
    before = columns["arrival"][row - 1]
    rules = {
        "arrival": "must be a finite number. Drop such jobs",
        "order": f"must not be below arrival[{row - 1}] = {before}. Sort the jobs by arrival",
        "service": "must be a finite number >= 0. Drop such jobs",
        "servers": f"must be from 1 to c = {c}. Drop such jobs, or give more servers",
        "late": "is too long: the end is no finite number. Give times in a greater unit",
    }
    return f"{name}[{row}] = {value}; {rules[rule]}."


def saturated_throughput(
    service: npt.ArrayLike,
    servers: npt.ArrayLike,
    c: SupportsIndex,
    *,
    batches: SupportsIndex = 20,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the maximum stable arrival rate under first come, first served, from jobs all there at 0 s.

    Parameters
    ----------
    service
        Shape (jobs,): service times, seconds, >= 0; a large sample of independent jobs.
    servers
        Shape (jobs,): the number of servers that each job needs at once; or one number for all jobs.
    c
        The number of servers.
    batches
        The number of batches, at least 2. The warm-up has the size of a batch.
    confidence
        The confidence level of the interval, between 0 and 1.

    Returns
    -------
    Interval
        Jobs per second: 1 over the mean time between two starts, with an interval from batch means.

    Raises
    ------
    QueueingError
        If a job is invalid, there are fewer than 2 jobs for each batch, or all service times are 0.

    Notes
    -----
    For exponential service times with one rate, `stability` computes the same exactly. Otherwise, the
    boundary depends on the distribution of service times, not only on their mean.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> random = np.random.default_rng(0)
    >>> service, servers = random.exponential(1.0, 100_000), random.integers(1, 3, 100_000)
    >>> found = bl.queueing.saturated_throughput(service, servers, c=2)
    >>> bl.queueing.stability([0.5, 0.5]).largest_arrival_rate() in found
    True
    """
    times, count = numbers("service", service), whole("batches", batches, 2)
    size = len(times) // (count + 1)
    if size < 2:  # noqa: PLR2004  # the first and the last of a batch
        raise QueueingError(
            f"service has {len(times)} rows; {count} batches and as many jobs as one of them for the warm-up "
            f"need at least {2 * (count + 1)}. Give more jobs, or ask for fewer batches."
        )
    starts = delays(np.zeros(len(times)), times, servers, c)
    # The last batch ends at the last job, so that excess jobs lengthen the warm-up.
    borders = starts[len(times) - 1 - size * np.arange(count, -1, -1)]
    gap = interval(np.diff(borders) / size, confidence)
    if gap.mean == 0:
        raise QueueingError("service: all jobs after the warm-up start at once. Give service times above 0.")
    high = 1 / gap.low if gap.low > 0 else math.inf
    return Interval(1 / gap.mean, 1 / gap.high, high, gap.confidence, gap.count)


_ROUNDING = 1e-9
# For fewer nodes than an exact quadrature needs, this number times sqrt(c) keeps the error below rounding.
_NODES = 4


@dataclass(frozen=True)
class Stability:
    """The stability criterion λ C < μ of a multiserver-job queue.

    Parameters
    ----------
    c
        The number of servers.
    constant
        C = E[1/K], where K is the number of jobs of random sizes that fit on the servers together.
    """

    c: int
    constant: float

    def largest_arrival_rate(self, service_rate: float = 1.0) -> float:
        """Compute μ/C, the arrival rate below which the queue is stable.

        Parameters
        ----------
        service_rate
            μ of the exponential service times, the same for jobs of all sizes, per second.

        Returns
        -------
        float
            Jobs per second.
        """
        return positive("service_rate", service_rate) / self.constant

    def is_stable(self, arrival_rate: float, service_rate: float = 1.0) -> bool:
        """Return whether λ C < μ.

        Parameters
        ----------
        arrival_rate, service_rate
            λ and μ, jobs per second.
        """
        return positive("arrival_rate", arrival_rate, zero=True) < self.largest_arrival_rate(service_rate)


def stability(probabilities: npt.ArrayLike) -> Stability:
    """Compute the stability constant of a multiserver-job queue under first come, first served.

    Parameters
    ----------
    probabilities
        Shape (c,): the probability that a job needs 1, 2, …, c servers, out of c.

    Returns
    -------
    Stability
        The constant C, the criterion and the largest arrival rate.

    Raises
    ------
    QueueingError
        If it is empty, a probability is below 0, or they do not sum to 1.

    Notes
    -----
    C = E[1/K], where N1 + … + NK <= c < N1 + … + N(K+1) for independent sizes: A. Rumyantsev and E. Morozov,
    "Stability criterion of a multiserver model with simultaneous service", Ann. Oper. Res. 252, 2017. Valid
    for exponential service with one rate for all sizes; otherwise, `saturated_throughput` estimates the
    boundary.

    Let K(n) be the number of jobs that fit on n servers. E[1/K] is the integral of E[z^(K−1)] over z from 0
    to 1, and f(n) = E[z^K(n)] satisfies f(n) = P(N > n) + z Σ P(N = m) f(n − m), a convolution of numbers >=
    0 without cancellation. The integral uses Gaussian quadrature, exact for polynomials of degree c − 1. The
    total cost is O(c² √c).

    Examples
    --------
    >>> import batchlab as bl
    >>> found = bl.queueing.stability([0.5, 0.5])
    >>> round(found.constant, 12), round(found.largest_arrival_rate(service_rate=2.0), 9)
    (0.875, 2.285714286)
    """
    sizes = _distribution(probabilities)
    c = len(sizes)
    nodes, weights = _quadrature(c)
    constant = float(weights @ (_expected_powers(sizes, nodes) / nodes))
    return Stability(c, constant)


def _expected_powers(sizes: Floats, z: Floats) -> Floats:
    """Return E[z^K], where at least one job fits."""
    c = len(sizes)
    too_large = np.concatenate([np.cumsum(sizes[::-1])[::-1], [0.0]])
    powers = np.empty((c + 1, len(z)))
    # Size m is at index m - 1. The product pairs f(0), …, f(n - 1) with the sizes n, …, 1.
    backwards = sizes[::-1].copy()
    for n in range(c + 1):
        powers[n] = too_large[n] + z * (backwards[c - n :] @ powers[:n])
    found: Floats = powers[c]
    return found


def _quadrature(c: int) -> tuple[Floats, Floats]:
    count = min((c + 1) // 2, int(_NODES * c**0.5) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _distribution(probabilities: npt.ArrayLike) -> Floats:
    sizes = numbers("probabilities", probabilities)
    if not len(sizes):
        raise QueueingError("probabilities is empty; give one for each number of servers from 1 to c.")
    broken = np.flatnonzero(~(sizes >= 0))
    if len(broken):
        raise QueueingError(f"probabilities[{broken[0]}] = {sizes[broken[0]]:g}; must be >= 0.")
    total = float(sizes.sum())
    if not abs(total - 1) <= _ROUNDING:
        raise QueueingError(f"probabilities add up to {total:.12g}; must add up to 1. Divide by the sum.")
    return sizes / total
