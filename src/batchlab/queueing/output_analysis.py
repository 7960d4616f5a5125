"""Means with confidence intervals from independent replications of a model, after their warm-up."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import QueueingError, shown, suggest
from batchlab.queueing.conversion import Floats, numbers, positive, whole
from batchlab.queueing.intervals import Interval, batch_means, confidence_level, interval

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import numpy.typing as npt

    Observations = npt.ArrayLike | Mapping[str, npt.ArrayLike]
    Model = Callable[[np.random.Generator], Observations]
    Series = dict[str, Floats]

_BATCH = 5


def mser5(observations: npt.ArrayLike) -> int:
    """Determine the number of initial observations to skip.

    Parameters
    ----------
    observations
        Shape (n,): a series with an initial transient, such as the waits of the first jobs.

    Returns
    -------
    int
        A multiple of 5, at most half of the series.

    Raises
    ------
    QueueingError
        If it is not a column of numbers.

    Notes
    -----
    MSER-5: of the means of batches of five, skip the first d such that the standard error of the others is
    minimal, as if they were independent: Σ (y − ȳ)² / (m − d)², d <= m/2. K. P. White, "An effective
    truncation heuristic for bias reduction in simulation output", Simulation 69, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> steady = np.random.default_rng(0).normal(0.0, 1.0, 1000)
    >>> bl.queueing.mser5(np.concatenate([np.linspace(20.0, 0.0, 100), steady]))
    95
    """
    series = numbers("observations", observations)
    batches = len(series) // _BATCH
    if batches < 2:  # noqa: PLR2004  # at most half of them is left out
        return 0
    means = series[: batches * _BATCH].reshape(batches, _BATCH).mean(axis=1)
    # Sums from the end of centred values, so that squares of large numbers do not cancel.
    means = means - means.mean()
    left = np.arange(batches, 0, -1)
    sums, squares = (np.cumsum(each[::-1])[::-1] for each in (means, means * means))
    spread = np.maximum(squares - sums * sums / left, 0.0) / left**2
    return _BATCH * int(np.argmin(spread[: batches // 2 + 1]))


VALUE = "value"
"""The name of the series of a model that returns a single array."""


def replicate(model: Model, seed: int, most: int, threads: int) -> Generator[Series]:
    """Run a model in threads with one generator per replication, and yield its series in order.

    Parameters
    ----------
    model
        A function that takes a generator and returns observations.
    seed
        Seed from which the generators are spawned: the generator of replication r is equal for all models.
    most
        Maximum number of replications. If the caller stops earlier, current replications are discarded.
    threads
        The number of parallel replications.

    Yields
    ------
    dict
        The series of a replication, by name.
    """

    def run(number: int) -> Series:
        # The same children as SeedSequence.spawn creates, without a list of them.
        sequence = np.random.SeedSequence(seed, spawn_key=(number,))
        return series_of(model(np.random.Generator(np.random.PCG64(sequence))), number)

    running: deque[Future[Series]] = deque()
    # Let threads continue while the oldest replication is late.
    window = 2 * threads
    pool = ThreadPoolExecutor(threads)
    try:
        for number in range(most):
            running.append(pool.submit(run, number))
            if len(running) >= window:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        # After an interrupt, or if the caller stops, do not wait for current replications.
        pool.shutdown(wait=False, cancel_futures=True)


def series_of(observations: Observations, number: int) -> Series:
    """Check the observations of one replication."""
    named = observations if isinstance(observations, Mapping) else {VALUE: observations}
    if not named:
        raise QueueingError(f"replication {number}: the model gave no series; give an array, or one by name.")
    found = {}
    for name, values in named.items():
        series = numbers(f"replication {number}: {shown(name)}", values)
        if not len(series):
            raise QueueingError(
                f"replication {number}: {shown(name)} has no observations; observe one or more."
            )
        broken = np.flatnonzero(~np.isfinite(series))
        if len(broken):
            place = f"{shown(name)}[{broken[0]}] = {series[broken[0]]:g}"
            raise QueueingError(
                f"replication {number}: {place}; must be finite. Leave such observations out."
            )
        found[str(name)] = series
    return found


@contextmanager
def progress_bar(most: int, *, shows: bool) -> Iterator[Callable[[int], None]]:
    """Show the number of finished replications on standard error, if `shows` is true."""
    if not shows:
        yield lambda _done: None
        return
    from rich.console import Console  # noqa: PLC0415  # only where a bar is asked for
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress("replications", *columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=most)
        yield lambda done: bar.update(task, completed=done)


_WIDER = 100
"""The default maximum of replications for a requested precision is this factor times `replications`."""


@dataclass(frozen=True, eq=False)
class Measure:
    """Estimates of the mean of one series.

    Parameters
    ----------
    means
        Shape (replications,): the mean of each replication after its warm-up.
    Shape (replications,): the number of observations skipped at the beginning of each.
        Shape (replications,): how many observations were left out at the beginning of each.
    The mean of the means, with Student's interval; replications are independent.
        The mean of the means, with Student's interval: the replications are independent.
    The mean of the batch means in the replications, with Student's interval over all of them; None if a
    replication has fewer observations than batches.
    """

    means: Floats
    warm_up: tuple[int, ...]
    by_replication: Interval
    by_batches: Interval | None

    @property
    def mean(self) -> float:
        """The mean of the replications' means."""
        return self.by_replication.mean


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Independent replications of a model; see `ensemble`.

    Parameters
    ----------
    measures
        The estimates for each series, by name; ``"value"`` for a series without a name.
    replications
        The number of replications.
    seed
        The seed of all random numbers.
    precise
        True if the requested relative precision was reached, or none was requested.
    """

    measures: Mapping[str, Measure]
    replications: int
    seed: int
    precise: bool

    def __getitem__(self, name: str) -> Measure:
        if name not in self.measures:
            raise QueueingError(f"name: no series {name!r}.{suggest(name, self.measures)}")
        return self.measures[name]

    @property
    def mean(self) -> float:
        """The mean of the only series."""
        return self._only.mean

    @property
    def interval(self) -> Interval:
        """The mean of the only series, with its confidence interval by replication."""
        return self._only.by_replication

    @property
    def _only(self) -> Measure:
        if len(self.measures) != 1:
            names = ", ".join(self.measures)
            raise QueueingError(f"there are several series: {names}. Choose one, as in ensemble[name].")
        return next(iter(self.measures.values()))

    def difference(self, other: Ensemble, name: str = VALUE) -> Interval:
        """Compare two models under common random numbers: the mean of this one minus that of another.

        Parameters
        ----------
        other
            An ensemble with the same seed and the same number of replications.
        name
            The name of the series.

        Returns
        -------
        Interval
            The mean of the differences in each replication, with Student's interval for pairs. It is short if
            both models respond to the random numbers in the same way.

        Raises
        ------
        QueueingError
            If the seeds or the numbers of replications differ, or the series does not exist in both.
        """
        mine, theirs = (f"{each.replications} replications of seed {each.seed}" for each in (self, other))
        if mine != theirs:
            raise QueueingError(
                f"other has {theirs}, this one {mine}; they must be the same. Ask for no relative precision."
            )
        confidence = self[name].by_replication.confidence
        return interval(self[name].means - other[name].means, confidence)


@checked(QueueingError)
def ensemble(
    model: Model,
    replications: SupportsIndex = 10,
    *,
    seed: SupportsIndex = 0,
    warm_up: str | float = "mser5",
    confidence: float = 0.95,
    batches: SupportsIndex = 20,
    relative_precision: float | None = None,
    most_replications: SupportsIndex | None = None,
    threads: SupportsIndex | None = None,
    progress: bool = False,
) -> Ensemble:
    """Run independent replications of a model, and estimate means.

    Parameters
    ----------
    model
        A function that takes a `numpy.random.Generator` and returns observations in order: an array, or a
        mapping of names to arrays. It runs in several threads, which helps if it releases the GIL, as
        `delays` and `simulate` do.
    replications
        The number of replications, at least 2.
    seed
        An integer >= 0. The generator of each replication is spawned from it, and is equal for every model
        with this seed: common random numbers.
    warm_up
        ``"mser5"`` determines the number of initial observations to skip for each replication (`mser5`); an
        integer is this number; a number between 0 and 1 is a share of the observations.
    confidence
        The confidence level of intervals, between 0 and 1.
    batches
        The number of batches of each replication, for the interval by batch means, at least 2.
    relative_precision
        If given, replications are added until, for every series, the half width of the interval by
        replication is at most this part of the mean.
    most_replications
        Maximum number of replications for `relative_precision`. [default: 100 times `replications`]
    threads
        Number of parallel replications; it does not change any result. [default: the number of processors]
    progress
        True to show a progress bar on standard error.

    Returns
    -------
    Ensemble
        For each series the means, and intervals by replication and by batch means.

    Raises
    ------
    QueueingError
        If an argument is invalid, the model returns something other than finite numbers, or the names of its
        series change. Errors of the model are not caught.

    Notes
    -----
    A. M. Law, "Simulation Modeling and Analysis", chapters 9 and 11. Under sequential stopping, intervals
    contain the mean slightly less often than their level; use at least 10 initial replications.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> def waits(rng: np.random.Generator) -> np.ndarray:
    ...     arrival = np.cumsum(rng.exponential(2.0, 20_000))
    ...     return bl.queueing.delays(arrival, rng.exponential(1.0, 20_000), servers=1, c=1)
    >>> found = bl.queueing.ensemble(waits, replications=10, seed=1)
    >>> bl.queueing.mmc(0.5, 1.0).mean_wait in found.interval
    True
    """
    level, least = confidence_level(confidence), whole("replications", replications, 2)
    count, left_out = whole("batches", batches, 2), _warm_up(warm_up)
    precision = None if relative_precision is None else positive("relative_precision", relative_precision)
    greatest = _WIDER * least if most_replications is None else most_replications
    most = least if precision is None else whole("most_replications", greatest, least)
    number_of_threads = whole("threads", threads if threads is not None else (os.cpu_count() or 1))
    base, kept = whole("seed", seed, 0), _Kept(left_out, count)
    precise = False
    with progress_bar(most, shows=progress) as show:
        for series in replicate(model, base, most, number_of_threads):
            kept.add(series)
            show(kept.replications)
            if kept.replications >= least:
                precise = precision is None or kept.worst_precision(level) <= precision
                if precise and precision is not None:
                    break
    return Ensemble(kept.measures(level), kept.replications, base, precise)


class _Kept:
    """Data kept of replications: means, but no observations."""

    def __init__(self, warm_up: str | float, batches: int) -> None:
        self._warm_up, self._batches = warm_up, batches
        self.replications = 0
        self._means: dict[str, list[float]] = {}
        self._left_out: dict[str, list[int]] = {}
        self._batch_means: dict[str, list[Floats | None]] = {}

    def add(self, series: Series) -> None:
        """Add one replication."""
        if self.replications and series.keys() != self._means.keys():
            raise QueueingError(
                f"replication {self.replications}: series {', '.join(series)}; must be those of the first: "
                f"{', '.join(self._means)}."
            )
        for name, values in series.items():
            first = _first(values, self._warm_up)
            rest = values[first:]
            self._means.setdefault(name, []).append(float(rest.mean()))
            self._left_out.setdefault(name, []).append(first)
            enough = len(rest) >= self._batches
            batched = batch_means(rest, self._batches) if enough else None
            self._batch_means.setdefault(name, []).append(batched)
        self.replications += 1

    def worst_precision(self, confidence: float) -> float:
        """Return the largest relative half width of all series."""
        return max(interval(np.array(each), confidence).relative_precision for each in self._means.values())

    def measures(self, confidence: float) -> dict[str, Measure]:
        """Summarise each series."""
        return {name: self._measure(name, confidence) for name in self._means}

    def _measure(self, name: str, confidence: float) -> Measure:
        means = np.array(self._means[name])
        batched = [each for each in self._batch_means[name] if each is not None]
        whole_series = len(batched) == self.replications
        by_batches = interval(np.concatenate(batched), confidence) if whole_series else None
        return Measure(means, tuple(self._left_out[name]), interval(means, confidence), by_batches)


def _warm_up(given: str | float) -> str | float:
    """Check the argument `warm_up`: a rule, a number of observations, or a share of them."""
    if given == "mser5":
        return given
    number = rules.number_of(given)
    if number is not None and (0 <= number < 1 or (isinstance(number, int) and number > 0)):
        return number
    raise QueueingError(
        f"warm_up = {shown(given)}; must be 'mser5', a number of observations, or a share of them below 1."
    )


def _first(values: Floats, warm_up: str | float) -> int:
    """Return the index of the first observation after the warm-up."""
    if isinstance(warm_up, str):
        return mser5(values)
    first = int(warm_up * len(values)) if isinstance(warm_up, float) else int(warm_up)
    if first >= len(values):
        raise QueueingError(
            f"warm_up = {warm_up} of {len(values)} observations leaves none; leave out fewer."
        )
    return first
