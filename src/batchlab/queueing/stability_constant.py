"""Stability of the multiserver-job queue under first come, first served, with exponential service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import QueueingError
from batchlab.queueing.checks import Floats, numbers, positive

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Stability", "stability"]

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
