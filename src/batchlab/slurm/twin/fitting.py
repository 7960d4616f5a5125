"""The fit of a twin to a log: parameters are fitted on one period, and assessed on the next."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import TwinError, missing_extra, shown
from batchlab.slurm.twin.fit_answer import Fit, assess, discrepancy
from batchlab.slurm.twin.log import LEAST_JOBS, Log
from batchlab.slurm.twin.parameters import changed, usual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from batchlab.slurm.twin.fit_answer import Assessment
    from batchlab.slurm.twin.parameters import Parameter
    from batchlab.slurm.twin.twin import Twin
    from batchlab.workload import Workload

__all__ = ["assessed", "fit", "search"]

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
                best = _best_of(pl.DataFrame(rows), sought)
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


def _best_of(tried: pl.DataFrame, sought: Sequence[Parameter]) -> dict[str, float]:
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


_ALIKE = (
    ("launch", "completion", "only their sum shows in a log"),
    ("main_phase", "sched_interval", "the one is a part of the other"),
)


@checked(TwinError)
def fit(
    workload: Workload,
    twin: Twin,
    *,
    parameters: Sequence[Parameter] | None = None,
    train: float = 0.5,
    trials: int = 100,
    minutes: float | None = None,
    seeds: int = 3,
    test_seeds: int = 10,
    seed: int = 0,
    tolerance: float = 60.0,
    progress: Callable[[int, int], object] | None = None,
) -> Fit:
    """Fit parameters of a cluster that a log does not contain.

    The parameters are fitted on the jobs of the first period only: they minimise the distance of starts and
    ends from the log, for the jobs that started in the period, measured by the geometric mean of 1 s +
    difference. Then the complete log is run with the configured and with the fitted values, and compared on
    the jobs of the second period, with other seeds.

    Parameters
    ----------
    workload
        The log, with starts: a column ``start_time`` or ``logged_wait_time``. Jobs that did not start and end
        are dropped.
    twin
        The configuration, with overheads as far as known.
    parameters
        The parameters to fit, from `batchlab.twin.parameter`; by default those of `batchlab.twin.usual`.
    train
        The fraction of the jobs in the first period.
    trials
        Maximum number of trials, including the configured values.
    minutes
        Time limit in minutes after which no trial begins.
    seeds
        Number of runs per trial; their seeds are `seed`, `seed` + 1, ….
    test_seeds
        Number of runs to assess the fit; their seeds follow those of the trials.
    seed
        Seed of the search, and first seed of the runs.
    tolerance
        A job is unexplained if the error of its turnaround is above this number of seconds.
    progress
        Called after each run with the number of completed runs and the total.

    Returns
    -------
    Fit
        The best values found. Ctrl-C ends the search, and returns the best so far.

    Raises
    ------
    MissingExtraError
        If optuna is not installed.
    AdequacyError
        If the log has no starts.
    TwinError
        If a period has too few jobs, there is no parameter to fit, or a value breaks its rule.

    Notes
    -----
    The search uses the tree-structured Parzen estimator of optuna (T. Akiba et al., "Optuna: A
    next-generation hyperparameter optimization framework", KDD 2019); other releases of it may try other
    values.
    """
    _check_search(trials=trials, seeds=seeds, test_seeds=test_seeds)
    _check_seconds("minutes", minutes)
    _check_seconds("tolerance", tolerance)
    log = Log.of(workload)
    boundary = log.boundary(train)
    first, settled = log.first_period(boundary)
    later = log.submit >= boundary
    _check_jobs("train", settled, "greater")
    _check_jobs("test", later, "smaller")
    sought = usual(twin) if parameters is None else tuple(parameters)
    _check_sought(sought)
    runs = _Runs(trials * seeds + 2 * test_seeds, progress)
    own = range(seed, seed + seeds)

    def distance(values: dict[str, float]) -> float:
        found = discrepancy(changed(twin, values), first, settled, own)
        runs.done(seeds)
        return found

    tried, interrupted = search(sought, distance, trials=trials, minutes=minutes, seed=seed)
    best = _best_of(tried, sought)
    fitted = changed(twin, best)
    others = range(seed + seeds, seed + seeds + test_seeds)
    before, after = (
        assess(each, log, later, seeds=others, tolerance=tolerance, progress=runs.done)
        for each in (twin, fitted)
    )
    return Fit(
        configured=twin,
        twin=fitted,
        parameters=sought,
        values=best,
        before=before,
        after=after,
        trials=tried,
        train_jobs=int(np.count_nonzero(settled)),
        left_out=log.left_out,
        boundary=boundary,
        seeds=seeds,
        seed=seed,
        interrupted=interrupted,
    )


@checked(TwinError)
def assessed(twin: Twin, workload: Workload, *, like: Fit) -> Assessment:
    """Assess another twin in the same way as a fit: on the same jobs of its log, with the same seeds.

    Parameters
    ----------
    twin
        For example a twin of another site, or one with known values.
    workload
        The log of the fit.
    like
        The fit.

    Returns
    -------
    Assessment
        Comparable to `Fit.before` and `Fit.after`.
    """
    log = Log.of(workload)
    first = like.seed + like.seeds
    seeds = range(first, first + len(like.after.comparisons))
    return assess(twin, log, log.submit >= like.boundary, seeds=seeds, tolerance=like.after.tolerance)


@dataclass
class _Runs:
    """Counts the runs for `progress`."""

    total: int
    progress: Callable[[int, int], object] | None
    count: int = 0

    def done(self, runs: int = 1) -> None:
        self.count += runs
        if self.progress is not None:
            self.progress(self.count, self.total)


def _check_sought(sought: Sequence[Parameter]) -> None:
    names = [each.name for each in sought]
    if not names or len({*names}) < len(names):
        raise TwinError(f"parameters = {shown(names)}; must be at least one, and none twice.")
    for one, other, why in _ALIKE:
        if one in names and other in names:
            raise TwinError(f"{one} and {other} cannot both be fitted: {why}. Leave one out.")


def _check_search(**counts: int) -> None:
    for name, value in counts.items():
        rules.check(TwinError, name, value, rules.COUNT)


def _check_seconds(name: str, value: float | None) -> None:
    rules.check(TwinError, name, value, rules.Optional(rules.POSITIVE))


def _check_jobs(period: str, chosen: np.ndarray[Any, Any], other: str) -> None:
    count = int(np.count_nonzero(chosen))
    if count < LEAST_JOBS:
        what = "were submitted and started in it" if period == "train" else "were submitted in it"
        raise TwinError(
            f"the {period} period: {count} jobs {what}; must be >= {LEAST_JOBS}. Give a longer log, or a "
            f"{other} train share."
        )
