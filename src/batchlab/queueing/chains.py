"""Markov chains in continuous time: finite ones, and queues whose levels are alike from one on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from batchlab.queueing.checks import Floats

__all__ = ["Tail", "rate_matrix", "stationary", "with_tail"]

_ENOUGH = 1e-16
_MOST_STEPS = 64


class Tail(NamedTuple):
    """Levels 0, 1, … of a queue, of which the probabilities of level i are ``first @ R**i``."""

    first: Floats
    rate_matrix: Floats

    @property
    def sums(self) -> Floats:
        """Shape (phases,): the probability of each phase, in all levels together."""
        return _solved(np.eye(len(self.first)) - self.rate_matrix, self.first)

    @property
    def weighted_sums(self) -> Floats:
        """Shape (phases,): the same with each level's probability times its number 0, 1, …."""
        back = np.eye(len(self.first)) - self.rate_matrix
        return _solved(back, self.sums @ self.rate_matrix)


def stationary(rates: Floats) -> Floats:
    """Give the stationary distribution of a chain.

    Parameters
    ----------
    rates
        Shape (states, states): rates from the row's state to the column's, per second; what stands in the
        diagonal does not matter. From each state one and the same set of states must be reached.

    Returns
    -------
    numpy.ndarray
        Shape (states,): probabilities.
    """
    return _balanced(rates, np.ones(len(rates)))


def with_tail(boundary: Floats, up: Floats, local: Floats, down: Floats) -> tuple[Floats, Tail]:
    """Give the stationary distribution of a queue whose levels are alike from one on.

    Parameters
    ----------
    boundary
        Shape (b + phases, b + phases): rates among the states of the boundary and the phases of level 0.
    up, local, down
        As for `rate_matrix`, of the levels 0, 1, ….

    Returns
    -------
    tuple
        The probabilities of the b states of the boundary; and the levels.
    """
    matrix, phases = rate_matrix(up, local, down), len(up)
    # Watched at levels up to 0 only, the queue comes back from level 1 at the rates R A2.
    rates = boundary.copy()
    rates[-phases:, -phases:] += matrix @ down
    sums = np.linalg.solve(np.eye(phases) - matrix, np.ones(phases))
    found = _balanced(rates, np.concatenate([np.ones(len(rates) - phases), sums]))
    return found[:-phases], Tail(found[-phases:], matrix)


def _balanced(rates: Floats, weights: Floats) -> Floats:
    """Solve x G = 0 and x · weights = 1, with these rates in G off its diagonal, its rows adding up to 0."""
    away = rates - np.diag(np.diag(rates))
    generator = away - np.diag(away.sum(axis=1))
    # The equations of balance add up to 0 = 0, so that one of them says nothing.
    generator[:, 0] = weights
    wanted = np.zeros(len(rates))
    wanted[0] = 1.0
    return _solved(generator, wanted)


def rate_matrix(up: Floats, local: Floats, down: Floats) -> Floats:
    """Give R, by which the probabilities of a level make those of the next one.

    Parameters
    ----------
    up, local, down
        Shape (phases, phases): rates from a level to the next, within it and to the one below, per second;
        the diagonal of `local` does not matter.

    Returns
    -------
    numpy.ndarray
        Shape (phases, phases): the least non-negative solution of A0 + R A1 + R² A2 = 0.

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
