"""Run times drawn from the information at one instant (semantics, S30).

The share of its time limit that a job runs is drawn from the jobs of the same kind that have started:
Kaplan–Meier, in which jobs that still run are censored, conditional on the time that the job has already run.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.random_streams import stream
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import SimulationError, missing_extra
from batchlab.workload.columns import size_classes, time_limits
from batchlab.workload.routing import attribute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy.typing as npt

    from batchlab.core.random_streams import Floats, Integers
    from batchlab.core.vocabulary import DrawMethod
    from batchlab.workload import Workload

__all__ = [
    "JobKinds",
    "Known",
    "ShareCurve",
    "ShareForest",
    "draw_run_times",
    "ensemble_models",
    "has_regression",
    "uniforms",
]

MOST_JOBS = 200
"""The number of a kind's latest jobs that are used."""
LEAST_OF_REQUEST, LEAST_OF_USER = 10, 20
"""From how many started jobs on the history of a user and request, or of a user or class, is used."""
LEAST_OUTLASTING = 10
"""From how many jobs on that ran a larger share than a job has run, the history of its kind is used."""

_RUNNING, _COMPLETED, _KILLED = (JOB_STATES.index(name) for name in ("running", "completed", "killed"))
_TREES, _LEAST_IN_LEAF, _MOST_LEARNT, _LEAST_LEARNT = 50, 10, 3_000, 50
_LATEST = 10
"""The number of a user's latest shares whose mean is a feature of the forest."""
_BEYOND = 0.1
"""A job that has outlasted its limit runs on for up to this share of it."""


@dataclass(frozen=True, eq=False)
class JobKinds:
    """The kinds of the jobs of a workload: their users, requests and size classes.

    Parameters
    ----------
    job_id
        int64, shape (jobs,).
    limit
        float64, shape (jobs,): the time limit, seconds; infinite or NaN if there is none.
    tasks
        float64, shape (jobs,).
    user, request, size
        int64, shape (jobs,): numbers of the user (-1 if unknown), of the user with tasks and limit (-1 if the
        user is unknown), and of the size class.
    user_name
        The name of each user, by number.
    """

    job_id: Integers
    limit: Floats
    tasks: Floats
    user: Integers
    request: Integers
    size: Integers
    user_name: tuple[str, ...]

    @classmethod
    def of(cls, workload: Workload) -> JobKinds:
        """Read the kinds from the columns of the workload."""
        jobs = workload.jobs
        limit = time_limits(jobs).astype(np.float64)
        wide = jobs["tasks"].to_numpy().astype(np.float64)
        names = attribute(workload, "user")
        known = names.drop_nulls().unique().sort()
        numbers = dict(zip(known.to_list(), range(len(known)), strict=True))
        user = names.replace_strict(numbers, default=-1, return_dtype=pl.Int64).to_numpy()
        keys = np.column_stack([user, wide, np.nan_to_num(limit, posinf=-1.0)])
        _, request = np.unique(keys, axis=0, return_inverse=True)
        request = np.where(user < 0, -1, request.ravel())
        names_of_users = tuple(known.to_list())
        return cls(jobs["job_id"].to_numpy(), limit, wide, user, request, size_classes(jobs), names_of_users)

    @cached_property
    def by_user(self) -> dict[int, Integers]:
        """The rows of each user."""
        return _groups(self.user)

    @cached_property
    def by_request(self) -> dict[int, Integers]:
        """The rows of each user's jobs of one size and limit."""
        return _groups(self.request)

    @cached_property
    def by_size(self) -> dict[int, Integers]:
        """The rows of each size class."""
        return _groups(self.size)


def _groups(number: Integers) -> dict[int, Integers]:
    order = np.argsort(number, kind="stable")
    values, begins = np.unique(number[order], return_index=True)
    parts = np.split(order, begins[1:])
    return {int(value): part for value, part in zip(values, parts, strict=True) if value >= 0}


@dataclass(frozen=True)
class Known:
    """What is known about the jobs at one instant.

    Parameters
    ----------
    at
        The instant, seconds.
    state
        int64, shape (jobs,): indices into `batchlab.core.vocabulary.JOB_STATES`.
    start_time, end_time
        float64, shape (jobs,): seconds; NaN before the start, or the end. Nothing else about run times.
    """

    at: float
    state: Integers
    start_time: Floats
    end_time: Floats

    def latest(self, rows: Integers) -> Integers:
        """Return the latest started of these rows, at most `MOST_JOBS`; cancelled jobs do not count."""
        state = self.state[rows]
        rows = rows[(state == _RUNNING) | (state == _COMPLETED) | (state == _KILLED)]
        start = self.start_time[rows]
        rows, start = rows[~np.isnan(start)], start[~np.isnan(start)]
        if len(rows) <= MOST_JOBS:
            return rows
        # Stable, so that jobs that started together are taken by row.
        return rows[np.argsort(start, kind="stable")[-MOST_JOBS:]]

    def share_curve(self, rows: Integers, limit: Floats) -> ShareCurve:
        """Return the distribution of the share of the limit that these jobs run."""
        limit = limit[rows]
        usable = np.isfinite(limit) & (limit > 0)
        rows, limit = rows[usable], limit[usable]
        runs = self.state[rows] == _RUNNING
        until = np.where(runs, self.at, self.end_time[rows])
        share = np.clip((until - self.start_time[rows]) / limit, 0.0, 1.0)
        return ShareCurve.of(share, is_end=~runs)


@dataclass(frozen=True)
class ShareCurve:
    """A distribution of shares of the limit on [0, 1]: Kaplan and Meier [1].

    Parameters
    ----------
    share
        float64, shape (n,): the shares with probability, ascending; the last one is 1.
    cumulative
        float64, shape (n,): the probability of each share or less; the last one is 1.
    known
        float64, shape (jobs,): the shares of the jobs of the estimate, ascending; so far, if they still run.

    References
    ----------
    .. [1] E. L. Kaplan, P. Meier, "Nonparametric Estimation from Incomplete Observations", JASA 53, 1958.
    """

    share: Floats
    cumulative: Floats
    known: Floats

    @classmethod
    def of(cls, share: Floats, *, is_end: npt.NDArray[np.bool_]) -> ShareCurve:
        """Estimate the distribution; jobs that have not ended are censored, and the rest of it is at 1."""
        order = np.lexsort((~is_end, share))
        share, is_end = share[order], is_end[order]
        at_risk = len(share) - np.arange(len(share))
        survival = np.cumprod(np.where(is_end, 1.0 - 1.0 / np.maximum(at_risk, 1), 1.0))
        places = np.flatnonzero(is_end & (share < 1.0))
        # Of equal shares the last one has the probability of all.
        places = places[np.append(share[places][1:] != share[places][:-1], True)] if len(places) else places
        return cls(np.append(share[places], 1.0), np.append(1.0 - survival[places], 1.0), share)

    @classmethod
    def weighted(cls, share: Floats, probability: Floats) -> ShareCurve:
        """Return the distribution with these probabilities."""
        values, place = np.unique(share, return_inverse=True)
        mass = np.bincount(place, probability)
        is_kept = (mass > 0) & (values < 1.0)
        return cls(np.append(values[is_kept], 1.0), np.append(np.cumsum(mass)[is_kept], 1.0), values)

    def outlasting(self, share: float) -> int:
        """Return how many of the jobs ran a larger share of their limits."""
        return len(self.known) - int(np.searchsorted(self.known, share, side="right"))

    def quantiles(self, uniform: Floats, above: float) -> Floats:
        """Return the shares at these probabilities, of those above a share; 1 if none is."""
        begin = np.searchsorted(self.share, above, side="right")
        passed = self.cumulative[begin - 1] if begin else 0.0
        level = passed + uniform * (1.0 - passed)
        places = np.searchsorted(self.cumulative, level, side="left")
        return self.share[np.minimum(np.maximum(places, begin), len(self.share) - 1)]


def has_regression() -> bool:
    """Return whether scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def ensemble_models() -> Any:  # noqa: ANN401  # scikit-learn has no types
    """Return scikit-learn's module of ensembles.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    """
    try:
        # An optional dependency, without types.
        from sklearn import ensemble  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise missing_extra("draws='forest'", "scikit-learn>=1.5") from None
    return ensemble


@dataclass(frozen=True, eq=False)
class ShareForest:
    """A quantile regression forest [1] of the share of its time limit that a job runs.

    The features of a job are its limit and tasks, and the shares of the latest ended jobs of its user, and of
    its user with the same tasks and limit. The forest is trained on the latest 3,000 jobs that started longer
    ago than their limits: all of them have ended, so that no long run is missing.

    Parameters
    ----------
    at
        The instant of the fit, seconds.
    model
        The forest; None without enough jobs.
    share
        float64, shape (n,): the shares of the jobs of the fit, ascending.
    leaf
        int64, shape (n, trees): the leaf of each job in each tree.

    References
    ----------
    .. [1] N. Meinshausen, "Quantile Regression Forests", Journal of Machine Learning Research 7, 2006.
    """

    at: float
    model: Any
    share: Floats
    leaf: Integers

    @classmethod
    def fit(cls, kinds: JobKinds, known: Known) -> ShareForest:
        """Fit a forest to the jobs that have ended.

        Raises
        ------
        MissingExtraError
            If scikit-learn is not installed.
        """
        forest = ensemble_models().RandomForestRegressor(
            n_estimators=_TREES, min_samples_leaf=_LEAST_IN_LEAF, max_features=0.5, random_state=0
        )
        with np.errstate(invalid="ignore"):
            is_over = known.start_time + kinds.limit <= known.at
        rows = np.flatnonzero(is_over & (kinds.limit > 0) & ~np.isnan(known.end_time))
        rows = rows[np.argsort(known.start_time[rows], kind="stable")[-_MOST_LEARNT:]]
        if len(rows) < _LEAST_LEARNT:
            return cls(known.at, None, np.empty(0), np.empty((0, _TREES), np.int64))
        share = _shares(kinds, known, rows)
        order = np.argsort(share, kind="stable")
        rows, share = rows[order], share[order]
        features = _features(kinds, known, rows, known.start_time[rows])
        forest.fit(features, share)
        return cls(known.at, forest, share, np.asarray(forest.apply(features)))

    def weights(self, kinds: JobKinds, known: Known, rows: Integers) -> tuple[Floats, Integers]:
        """Return the probability of each share of the fit for jobs that run or wait.

        Returns
        -------
        tuple
            float64, shape (cases, n): the probabilities, one row per different job; and int64, shape (rows,):
            the row of each job in it.
        """
        start = known.start_time[rows]
        features = _features(kinds, known, rows, np.where(np.isnan(start), known.at, start))
        different, place = np.unique(features, axis=0, return_inverse=True)
        leaves = np.asarray(self.model.apply(different))
        found = np.empty((len(different), len(self.share)))
        for case, leaf in enumerate(leaves):
            same = self.leaf == leaf
            found[case] = (same / same.sum(axis=0)).mean(axis=1)
        return found, place.ravel()


def _shares(kinds: JobKinds, known: Known, rows: Integers) -> Floats:
    shares: Floats = np.clip((known.end_time[rows] - known.start_time[rows]) / kinds.limit[rows], 0.0, 1.0)
    return shares


def _features(kinds: JobKinds, known: Known, rows: Integers, at: Floats) -> Floats:
    """Return the features of jobs as known at an instant each: float64, shape (rows, 6); NaN if unknown."""
    features = np.full((len(rows), 6), np.nan)
    features[:, 0], features[:, 1] = np.log(kinds.limit[rows]), np.log2(np.maximum(kinds.tasks[rows], 1))
    for begin, number, groups in ((2, kinds.user, kinds.by_user), (4, kinds.request, kinds.by_request)):
        of_rows = number[rows]
        for each in np.unique(of_rows[of_rows >= 0]):
            places = np.flatnonzero(of_rows == each)
            features[places, begin : begin + 2] = _latest_shares(kinds, known, groups[int(each)], at[places])
    return features


def _latest_shares(kinds: JobKinds, known: Known, rows: Integers, at: Floats) -> Floats:
    """Return the last share, and the mean of the latest ones, of the jobs that had ended by each instant."""
    rows = rows[~np.isnan(known.end_time[rows]) & ~np.isnan(known.start_time[rows]) & (kinds.limit[rows] > 0)]
    rows = rows[np.argsort(known.end_time[rows], kind="stable")]
    share = _shares(kinds, known, rows)
    count = np.searchsorted(known.end_time[rows], at, side="right")
    sums = np.append(0.0, np.cumsum(share))
    first = np.maximum(count - _LATEST, 0)
    mean = (sums[count] - sums[first]) / np.maximum(count - first, 1)
    last = np.append(np.nan, share)[count]
    return np.column_stack([last, np.where(count > 0, mean, np.nan)])


def uniforms(seed: int, kinds: JobKinds, rows: Integers, samples: int, correlation: float) -> Floats:
    """Draw one uniform per sample and job: common random numbers.

    A job's uniforms depend on the seed, its job_id and its user, not on the other jobs.

    Parameters
    ----------
    seed
        The seed.
    kinds
        The kinds of the jobs.
    rows
        The rows of the jobs.
    samples
        The number of samples.
    correlation
        The chance with which a job takes the uniform of its user in a sample.

    Returns
    -------
    numpy.ndarray
        float64, shape (samples, rows), in [0, 1).
    """
    of_user: dict[int, Floats] = {}
    found = np.empty((samples, len(rows)))
    for place, row in enumerate(rows):
        user, job = int(kinds.user[row]), int(kinds.job_id[row])
        own = user < 0 or correlation < 1.0
        values = stream(seed, f"forecast of job {job}").random((2, samples)) if own else None
        if user < 0 and values is not None:
            found[:, place] = values[0]
            continue
        if user not in of_user:
            of_user[user] = stream(seed, f"forecast of user {kinds.user_name[user]}").random(samples)
        shared = of_user[user]
        found[:, place] = shared if values is None else np.where(values[1] < correlation, shared, values[0])
    return found


def draw_run_times(
    method: DrawMethod,
    kinds: JobKinds,
    known: Known,
    rows: Integers,
    *,
    elapsed: Floats,
    uniform: Floats,
    forest: ShareForest | None = None,
) -> Floats:
    """Draw the total run times of jobs.

    Parameters
    ----------
    method
        The history that is used; ``"limits"`` uses none.
    kinds, known
        The kinds of all jobs, and the facts about them that are known.
    rows
        The jobs that run or wait.
    elapsed
        float64, shape (rows,): seconds that each has already run.
    uniform
        float64, shape (samples, rows), from `uniforms`.
    forest
        The forest of the method ``"forest"``, if it was fitted before.

    Returns
    -------
    numpy.ndarray
        float64, shape (samples, rows): seconds, above `elapsed` and not above the limit.

    Raises
    ------
    SimulationError
        If a job has no time limit.
    """
    limit = kinds.limit[rows]
    without = np.flatnonzero(~(np.isfinite(limit) & (limit >= 0)))
    if len(without):
        rule = "run times are drawn as shares of it. Give it a requested_time, or use draws='true'"
        raise SimulationError(f"job {kinds.job_id[rows[without[0]]]} has no time limit; {rule}.")
    share = np.ones_like(uniform)
    above = np.divide(elapsed, limit, out=np.zeros(len(rows)), where=limit > 0)
    if method != "limits":
        for place, curve in enumerate(_curves(method, kinds, known, rows, above=above, forest=forest)):
            # Without any history, every share is as likely.
            share[:, place] = (
                above[place] + uniform[:, place] * (1.0 - above[place])
                if curve is None
                else curve.quantiles(uniform[:, place], above[place])
            )
    return _totals(share * limit, limit, elapsed, uniform)


def _totals(total: Floats, limit: Floats, elapsed: Floats, uniform: Floats) -> Floats:
    """Return totals above the elapsed time and not above the limit, unless that has passed."""
    is_over = elapsed >= limit
    beyond = elapsed + np.maximum(_BEYOND * limit, 1.0) * (1.0 - uniform)
    least = np.where(elapsed > 0, np.nextafter(elapsed, np.inf), 0.0)
    return np.where(is_over & (elapsed > 0), np.maximum(beyond, least), np.clip(total, least, limit))


def _curves(
    method: DrawMethod,
    kinds: JobKinds,
    known: Known,
    rows: Integers,
    *,
    above: Floats,
    forest: ShareForest | None,
) -> list[ShareCurve | None]:
    """Return the distribution of the share of each job, which has run a share; None without any history."""
    if method == "forest":
        fitted = ShareForest.fit(kinds, known) if forest is None else forest
        if fitted.model is not None and len(rows):
            probability, place = fitted.weights(kinds, known, rows)
            found = [ShareCurve.weighted(fitted.share, each) for each in probability]
            return [found[each] for each in place]
    curves: dict[tuple[str, int], ShareCurve | None] = {}
    return [
        _curve_of(method, kinds, known, int(row), above=float(share), curves=curves)
        for row, share in zip(rows, above, strict=True)
    ]


def _curve_of(
    method: DrawMethod,
    kinds: JobKinds,
    known: Known,
    row: int,
    *,
    above: float,
    curves: dict[tuple[str, int], ShareCurve | None],
) -> ShareCurve | None:
    """Return the distribution of the first kind of a job with enough history, or None.

    A few jobs that ran longer than the job has run would give a few possible ends, and intervals that are too
    narrow.
    """
    for name, number, least in _kinds_of(method, kinds, row):
        key = (name, number)
        if key not in curves:
            groups = {"request": kinds.by_request, "user": kinds.by_user, "size": kinds.by_size}
            rows = np.arange(len(kinds.limit)) if name == "all" else groups[name][number]
            latest = known.latest(rows)
            # Jobs that all still run say little about when such jobs end.
            is_enough = len(latest) >= least and bool((known.state[latest] != _RUNNING).any())
            curves[key] = known.share_curve(latest, kinds.limit) if is_enough else None
        curve = curves[key]
        if curve is None:
            continue
        if not 0 < above < 1 or name == "all" or curve.outlasting(above) >= LEAST_OUTLASTING:
            return curve
    return None


def _kinds_of(method: DrawMethod, kinds: JobKinds, row: int) -> Iterator[tuple[str, int, int]]:
    """Yield the kinds of a job, from the narrowest one, each with the number of jobs that it needs."""
    user = int(kinds.user[row])
    if user >= 0 and method in ("user_request", "forest"):
        yield "request", int(kinds.request[row]), LEAST_OF_REQUEST
    if user >= 0 and method != "class":
        yield "user", user, LEAST_OF_USER
    yield "size", int(kinds.size[row]), LEAST_OF_USER
    yield "all", 0, 1
