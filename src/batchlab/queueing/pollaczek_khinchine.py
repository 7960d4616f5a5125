"""The queue M/G/1: Poisson arrivals, general service times, one server."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.errors import QueueingError
from batchlab.queueing.checks import positive, unstable

__all__ = ["MG1", "mg1"]

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
