"""The fit of a twin on a log: parameters sought on one period of time, judged on the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.errors import TwinError, shown
from batchlab.twin.assessment import assess, discrepancy
from batchlab.twin.fit_answer import Fit
from batchlab.twin.log import LEAST_JOBS, Log
from batchlab.twin.parameters import changed, usual
from batchlab.twin.search import best_of, search
from batchlab.units import is_finite, is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.twin.assessment import Assessment
    from batchlab.twin.parameters import Parameter
    from batchlab.twin.twin import Twin
    from batchlab.workload import Workload

__all__ = ["assessed", "fit"]

_ALIKE = (
    ("launch", "completion", "only their sum shows in a log"),
    ("main_phase", "sched_interval", "the one is a part of the other"),
)


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
    """Fit what a log does not say of a cluster.

    The parameters are sought with the jobs of the first period of the log alone: such that starts and
    ends of those that started within it are nearest to the log's, by the geometric mean of 1 s +
    difference. Then the whole log is run with what was configured and with what was fitted, and compared
    on the jobs of the second period, with other seeds.

    Parameters
    ----------
    workload
        The log, with starts: a column ``start_time`` or ``logged_wait_time``. Jobs that did not start and
        end are left out.
    twin
        The configuration, with overheads as far as they are known.
    parameters
        What is fitted, of `batchlab.twin.parameter`; what `batchlab.twin.usual` gives unless given.
    train
        The share of the jobs that make the first period.
    trials
        How many sets of values are tried, what is configured among them.
    minutes
        No trial begins after so many minutes.
    seeds
        How many runs each trial has; their seeds are `seed`, `seed` + 1, ….
    test_seeds
        How many runs judge what was fitted; their seeds follow on those.
    seed
        Of the search, and the first of the runs.
    tolerance
        A job is unexplained if its time from submission to end is further off than so many seconds.
    progress
        Called after each run with the number of runs done and that of all.

    Returns
    -------
    Fit
        The best that was found. Ctrl-C ends the search, and gives the best so far.

    Raises
    ------
    MissingExtraError
        If optuna is not installed.
    AdequacyError
        If the log has no starts.
    TwinError
        If a period has too few jobs, nothing is to be fitted, or a value breaks its rule.

    Notes
    -----
    The search is that of T. Akiba et al., "Optuna: A next-generation hyperparameter optimization framework",
    KDD 2019, with its tree-structured Parzen estimator: other releases of it may try other values.
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
    best = best_of(tried, sought)
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


def assessed(twin: Twin, workload: Workload, *, like: Fit) -> Assessment:
    """Judge another twin as a fit was judged: on the same jobs of its log, with the same seeds.

    Parameters
    ----------
    twin
        Such as one of another centre, or one whose values are known.
    workload
        The log that was fitted on.
    like
        The fit.

    Returns
    -------
    Assessment
        To be compared with `Fit.before` and `Fit.after`.
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
        if not is_whole(value) or value < 1:
            raise TwinError(f"{name} = {shown(value)}; must be a whole number >= 1.")


def _check_seconds(name: str, value: float | None) -> None:
    if value is not None and (not is_finite(value) or value <= 0):
        raise TwinError(f"{name} = {shown(value)}; must be a finite number > 0.")


def _check_jobs(period: str, chosen: np.ndarray[Any, Any], other: str) -> None:
    count = int(np.count_nonzero(chosen))
    if count < LEAST_JOBS:
        what = "were submitted and started in it" if period == "train" else "were submitted in it"
        raise TwinError(
            f"the {period} period: {count} jobs {what}; must be >= {LEAST_JOBS}. Give a longer log, or a "
            f"{other} train share."
        )
