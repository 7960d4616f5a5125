"""The search for the parameter values that minimise a function."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.errors import missing_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from batchlab.slurm.twin.parameters import Parameter

__all__ = ["best_of", "search"]

# Range of a change as a fraction of the parameter's range: from the full range to small changes.
_REACHES = (1.0, 0.3, 0.1, 0.03, 0.01)
_ROUND = 3
"""Number of trials per proposal of the estimator."""
_WORST = 1e300


def search(
    sought: Sequence[Parameter],
    distance: Callable[[dict[str, float]], float],
    *,
    trials: int,
    minutes: float | None,
    seed: int,
) -> tuple[pl.DataFrame, bool]:
    """Evaluate the function for different values.

    The first trial uses the configured values. Then each proposal of optuna's estimator is followed by two
    neighbours of the best values so far, with one value changed: the estimator alone concentrates on regions
    of good trials, in which a value that affects few jobs may still be far off.

    Parameters
    ----------
    sought
        The parameters with their bounds.
    distance
        The function to minimise, of values by name.
    trials, minutes
        Maximum number of trials; time limit in minutes after which no trial begins.
    seed
        Seed of the search.

    Returns
    -------
    tuple
        A row per trial: ``trial`` (from 1), ``discrepancy`` and a column for each parameter; and whether
        Ctrl-C ended the search after the first trial.

    Raises
    ------
    MissingExtraError
        If optuna is not installed.
    """
    with _quiet():
        study, distributions = _study(sought, seed)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    chance = np.random.default_rng(seed)
    rows: list[dict[str, float]] = []
    changes = 0
    try:
        while len(rows) < trials and (not rows or time.monotonic() < end):
            if len(rows) % _ROUND:
                best = best_of(pl.DataFrame(rows), sought)
                study.enqueue_trial(_neighbour(sought, best, changes, chance))
                changes += 1
            trial = study.ask(distributions)
            values = {name: float(value) for name, value in trial.params.items()}
            found = distance(values)
            study.tell(trial, min(found, _WORST))
            rows.append({"trial": len(rows) + 1, "discrepancy": found, **values})
    except KeyboardInterrupt:
        if not rows:
            raise
        return pl.DataFrame(rows), True
    return pl.DataFrame(rows), False


def best_of(tried: pl.DataFrame, sought: Sequence[Parameter]) -> dict[str, float]:
    """Return the values of the best trial."""
    row = tried.row(int(tried["discrepancy"].arg_min() or 0), named=True)
    return {each.name: float(row[each.name]) for each in sought}


def _neighbour(
    sought: Sequence[Parameter], best: Mapping[str, float], number: int, chance: np.random.Generator
) -> dict[str, float]:
    """Return the best values with one changed: parameters in turn, with decreasing range."""
    turn, place = divmod(number, len(sought))
    each = sought[place]
    low, high, value = (_scaled(each, bound) for bound in (each.low, each.high, best[each.name]))
    reach = _REACHES[turn % len(_REACHES)] * (high - low)
    moved = min(max(value + reach * chance.uniform(-1, 1), low), high)
    found = math.exp(moved) if each.is_logarithmic else moved
    kept = min(max(found, each.low), each.high)
    return _typed(sought, {**best, each.name: round(kept) if each.is_whole else kept})


def _scaled(each: Parameter, value: float) -> float:
    return math.log(value) if each.is_logarithmic else value


def _typed(sought: Sequence[Parameter], values: Mapping[str, float]) -> dict[str, float]:
    """Convert values of integer parameters to int."""
    return {
        each.name: int(values[each.name]) if each.is_whole else values[each.name]
        for each in sought
        if each.name in values
    }


def _study(sought: Sequence[Parameter], seed: int) -> tuple[Any, dict[str, Any]]:
    """Set up the search; the configured values are tried first."""
    optuna = _optuna()
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed % 2**32), storage=optuna.storages.InMemoryStorage()
    )
    kinds = optuna.distributions
    distributions = {
        each.name: kinds.IntDistribution(int(each.low), int(each.high), log=each.is_logarithmic)
        if each.is_whole
        else kinds.FloatDistribution(each.low, each.high, log=each.is_logarithmic)
        for each in sought
    }
    known = {each.name: each.configured for each in sought if each.configured is not None}
    study.enqueue_trial(_typed(sought, known))
    return study, distributions


def _optuna() -> ModuleType:
    try:
        import optuna  # noqa: PLC0415  # an optional dependency
    except ImportError:
        raise missing_extra("a fit", "optuna>=4") from None
    module: ModuleType = optuna
    return module


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress optuna's message on standard error about a new study."""
    logging = _optuna().logging
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
