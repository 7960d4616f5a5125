"""Continuous-time Markov chains: finite ones, and queues with repeating levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from batchlab.queueing.checks import Floats

__all__ = ["Tail", "rate_matrix", "stationary", "with_tail"]

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
