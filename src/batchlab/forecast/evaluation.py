"""How well forecasts are calibrated: a log is replayed, and forecasts are made at sampled instants."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from batchlab.core import rules, text_tables
from batchlab.core.lazy import import_late
from batchlab.core.random_streams import stream
from batchlab.core.units import format_count
from batchlab.core.vocabulary import DRAW_METHODS, FORECAST_ARRIVALS, FORECAST_STARTS
from batchlab.errors import SimulationError, WorkloadError
from batchlab.forecast.baselines import BoostedWaits, WaitBounds, WaitHistory, queue_lengths
from batchlab.forecast.conformal import Adjustment
from batchlab.forecast.draws import JobKinds, ShareForest, has_regression
from batchlab.forecast.scores import (
    LEVELS,
    MEDIAN,
    Cases,
    Scores,
    coverage_by_class,
    reliability,
    sample_quantiles,
)
from batchlab.forecast.situation import SAMPLES, WEEK, Situation, threads_of
from batchlab.forecast.truth import truth_of
from batchlab.workload.columns import powers_of_two

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.core.random_streams import Floats, Integers
    from batchlab.core.vocabulary import DrawMethod, ForecastArrivals, ForecastStarts
    from batchlab.forecast.truth import Starts, States
    from batchlab.policy import Policy
    from batchlab.seam.components import Scheduler
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Evaluation", "evaluate"]

Method: TypeAlias = "tuple[DrawMethod, float, ForecastArrivals]"
"""A way to draw run times, the correlation of the draws, and which jobs arrive."""

_Part: TypeAlias = "tuple[Integers, Floats, Floats, dict[str, Floats]]"
"""Rows, the instant of each, features, and the forecasts of each method at one instant."""

_HOUR, _DAY = 3600.0, 86_400.0
_BLOCKS, _TOLERANCE = 5, 0.03
_LATEST = 4 * WEEK
"""The wait that is scored for jobs that never start in a sample."""
_OURS, _PLAN, _BOOSTED = "forecast", "plan by limits", "boosted regression with the plan"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Scores of forecasts on the last third of a log, beside baselines.

    Parameters
    ----------
    instants, cases
        The numbers of test instants, and of waiting jobs at these.
    left_out
        The number of test instants that were left out, since the jobs that ran in the log do not fit the
        machine.
    chosen
        Choices made before the last third: ``draws``, ``correlation``, ``arrivals``, and whether forecasts
        are ``adjusted``.
    scores
        One row per method: ``method``, ``coverage_50``, ``coverage_80``, ``coverage_90`` (shares),
        ``coverage_error``, ``pinball_by_cases``, ``pinball_by_instants``, ``median_error``, ``width``
        (seconds), ``points`` (share). The method ``forecast`` is the chosen one.
    classes
        One row per method and class of its median: ``method``, ``class`` (its upper end), ``cases``,
        ``instants``, ``coverage_80``, ``coverage_error``.
    reliability
        One row per method and level: ``method``, ``level``, ``share`` (of the starts at or before it).
    """

    instants: int
    cases: int
    left_out: int
    chosen: Mapping[str, object]
    scores: pl.DataFrame
    classes: pl.DataFrame
    reliability: pl.DataFrame

    def __repr__(self) -> str:
        waits, instants = format_count(self.cases, "wait"), format_count(self.instants, "instant")
        return f"<Evaluation of forecasts: {waits} at {instants}>"

    def __str__(self) -> str:
        facts = [
            ("instants", f"{self.instants:,}" + (f", {self.left_out:,} left out" if self.left_out else "")),
            ("cases", format_count(self.cases, "waiting job")),
            ("chosen", ", ".join(f"{name} = {value}" for name, value in self.chosen.items())),
        ]
        head = [
            "method",
            "50 %",
            "80 %",
            "90 %",
            "pinball, cases",
            "instants",
            "median error",
            "width",
            "points",
        ]
        rows = [head]
        for row in self.scores.iter_rows(named=True):
            error = f" ± {100 * row['coverage_error']:.1f}"
            rows.append(
                [
                    row["method"],
                    f"{100 * row['coverage_50']:.0f}",
                    f"{100 * row['coverage_80']:.0f}{error}",
                    f"{100 * row['coverage_90']:.0f}",
                    *(f"{row[name] / _HOUR:.2f}" for name in ("pinball_by_cases", "pinball_by_instants")),
                    *(f"{row[name] / _HOUR:.2f}" for name in ("median_error", "width")),
                    f"{100 * row['points']:.0f} %",
                ]
            )
        classes = [["class of the median", "cases", "instants", "80 %"]]
        own = self.classes.filter(pl.col("method") == _OURS)
        for row in own.iter_rows(named=True):
            share = f"{100 * row['coverage_80']:.0f} ± {100 * row['coverage_error']:.1f}"
            classes.append([row["class"], f"{row['cases']:,}", f"{row['instants']:,}", share])
        blocks: list[text_tables.Block] = [
            text_tables.Facts(facts, "Forecasts of starts, evaluated"),
            text_tables.Table(rows, note="coverage in %, pinball loss, median error and width in hours"),
            text_tables.Table(classes),
        ]
        return text_tables.render(blocks)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram: the share of starts at or before each quantile, by its level.

        Parameters
        ----------
        ax
            Axes to draw on. [default: new ones]
        """
        draw: Any = import_late("batchlab.plot.forecasts", "reliability")
        axes: Axes = draw(self, ax=ax)
        return axes


def evaluate(
    workload: Workload,
    system: System,
    policy: Policy | Scheduler | str,
    *,
    instants: int = 500,
    calibration_instants: int = 500,
    starts: ForecastStarts = "simulated",
    samples: int = 60,
    draws: Sequence[DrawMethod] = ("user_request", "user"),
    correlations: Sequence[float] = (1.0, 0.8),
    arrivals: Sequence[ForecastArrivals] = ("week",),
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Evaluate forecasts on a log: the truth is its replay under the policy, or the log itself.

    Instants are drawn uniformly from the times at which a job waits: in the first two thirds of the log, but
    for the first sixth, for choices and adjustments, and in the last third for the scores. At each instant
    every waiting job is forecast from what is known then.

    Parameters
    ----------
    workload
        The jobs. Read logs with ``overrun="cut"``: other limits contain true run times. With the starts of
        the log read it with ``overrun="keep"``, since runs that are cut leave the machine too early.
    system, policy
        The machine and the policy.
    instants, calibration_instants
        The numbers of instants in the last third and before it. The standard error of the coverage is 3 to 4
        points with 200 instants of a log with long queues: take 400 or more to choose by.
    starts
        ``"simulated"``: the starts of the replay. ``"log"``: those that the log recorded. Each forecast then
        begins in the state that the log had at the instant: the same jobs run, the same jobs wait, and the
        policy decides from the next event on, or at once if no job runs. The allocator places the running
        jobs. Jobs that never started are left out.
    samples
        The samples of a forecast.
    draws, correlations, arrivals
        The candidates: all combinations of these values of arguments of `Simulation.forecast`, each of them
        raw and adjusted. The calibration instants are cut into five blocks; in each but the first, an
        adjustment is fitted on the blocks before it. Of the candidates whose coverage by the 80 % interval
        differs from 80 % by at most 3 points in the mean over these four blocks, the one with the least
        pinball loss is chosen, an adjusted one only if no raw one does; without any, the one that differs
        least.
    seed
        Seed of instants and samples.
    threads
        The number of threads. [default: the number of CPUs]
    progress
        Called with the numbers of finished and of all instants.

    Returns
    -------
    Evaluation
        The scores of the forecasts, raw, adjusted and as chosen, and of the baselines.

    Raises
    ------
    SimulationError
        If an argument is invalid, no job waits in the periods of the instants, or the log has no starts.
    MissingExtraError
        If draws have ``"forest"`` and scikit-learn is not installed.
    """
    count = rules.check(SimulationError, "instants", instants, rules.COUNT)
    first = rules.check(SimulationError, "calibration_instants", calibration_instants, rules.COUNT)
    rules.check(SimulationError, "starts", starts, rules.OneOf(FORECAST_STARTS))
    rules.check(SimulationError, "samples", samples, SAMPLES)
    rules.check(SimulationError, "seed", seed, rules.SEED)
    kind = rules.List(rules.OneOf(FORECAST_ARRIVALS), "arrivals", is_empty_valid=False)
    rules.check(SimulationError, "arrivals", arrivals, kind)
    word = rules.List(rules.OneOf(DRAW_METHODS), "draws", is_empty_valid=False)
    rules.check(SimulationError, "draws", draws, word)
    chance = rules.List(rules.PROBABILITY, "chances", is_empty_valid=False)
    rules.check(SimulationError, "correlations", correlations, chance)
    threads = threads_of(threads)
    truth, states = truth_of(starts, workload, system, policy)
    begin, end = workload.first_submission, workload.last_submission
    warm, last = begin + (end - begin) / 6, begin + 2 * (end - begin) / 3
    early = truth.instants(warm, last, first, stream(seed, "calibration instants"))
    late = truth.instants(last, end, count, stream(seed, "test instants"))
    total = len(early) + len(late)
    walk = _Walk(states, JobKinds.of(workload), truth, samples, seed, threads)
    methods: list[Method] = [*product(draws, correlations, arrivals)]
    calibrated = walk.along(early, methods, lambda done: progress and progress(done, total))
    chosen, is_adjusted = calibrated.choose(methods)
    tested = walk.along(late, [chosen], lambda done: progress and progress(len(early) + done, total))
    return _scored(calibrated, tested, chosen, is_adjusted=is_adjusted, left_out=walk.left_out)


@dataclass(eq=False)
class _Walk:
    """Moves a simulation along ascending instants, and forecasts at each."""

    states: States
    kinds: JobKinds
    truth: Starts
    samples: int
    seed: int
    threads: int

    def __post_init__(self) -> None:
        submit, start = self.truth.submit_time, self.truth.start_time
        lengths = queue_lengths(submit, start, submit)
        past = submit, start, self.truth.order
        self.baselines: dict[str, WaitHistory | WaitBounds] = {
            "past waits, size class": WaitHistory(self.kinds.size, *past),
            "past waits, queue length": WaitHistory(powers_of_two(lengths), *past),
            "binomial bounds, size class": WaitBounds(self.kinds.size, *past),
        }
        self.number = self.left_out = 0
        self.forest: ShareForest | None = None

    def along(self, times: Floats, methods: Sequence[Method], report: Callable[[int], object]) -> _Forecasts:
        """Forecast at these times by several methods and the baselines."""
        parts: list[_Part] = []
        why = "no waiting job can run on this machine"
        self.left_out = 0
        for done, at in enumerate(times.tolist()):
            try:
                parts += self._part(at, methods)
            except WorkloadError as error:
                why, self.left_out = str(error), self.left_out + 1
            report(done + 1)
        if not parts:
            raise SimulationError(f"evaluate(): no instant can be forecast. At the last one: {why}")
        rows, at = (np.concatenate([each[place] for each in parts]) for place in (0, 1))
        instant = np.repeat(np.arange(len(parts)), [len(each[0]) for each in parts])
        features = np.concatenate([each[2] for each in parts], axis=1)
        forecasts = {name: np.concatenate([each[3][name] for each in parts], axis=1) for name in parts[0][3]}
        return _Forecasts(Cases(instant, rows, self.truth.start_time[rows] - at), features, forecasts)

    def _part(self, at: float, methods: Sequence[Method]) -> list[_Part]:
        """Forecast at one time; nothing if no waiting job is known to have started.

        Raises
        ------
        WorkloadError
            If the machine cannot be in the state of this time.
        """
        self.number += 1
        simulation = self.states.at(at)
        # A pass may be due in a state of this very time.
        situation = Situation.of(simulation, None if simulation.now == at else at, self.kinds)
        waiting = situation.waiting[np.isfinite(self.truth.start_time[situation.waiting])]
        if not len(waiting):
            return []
        found = self._forecasts(situation, waiting, methods)
        features = self._features(situation, waiting, found[_PLAN][MEDIAN])
        return [(waiting, np.full(len(waiting), at), features, found)]

    def _features(self, situation: Situation, waiting: Integers, plan: Floats) -> Floats:
        """Return what a regression knows of each waiting job: float64, shape (features, jobs)."""
        at, submit, kinds = situation.known.at, self.truth.submit_time, self.kinds
        queue = situation.waiting[np.argsort(submit[situation.waiting], kind="stable")]
        work = np.cumsum(kinds.tasks[queue] * kinds.limit[queue])
        before = np.searchsorted(submit[queue], submit[waiting], side="left")
        return np.stack(
            [
                plan,
                at - submit[waiting],
                kinds.tasks[waiting],
                kinds.limit[waiting],
                before,
                np.append(0.0, work)[before],
                np.full(len(waiting), len(queue)),
                np.full(len(waiting), work[-1]),
                np.full(len(waiting), at % _DAY),
                np.full(len(waiting), at % WEEK),
            ]
        )

    def _forecasts(
        self, situation: Situation, waiting: Integers, methods: Sequence[Method]
    ) -> dict[str, Floats]:
        at, seed = situation.known.at, self.seed + self.number
        futures = {each: situation.futures(each) for each in {method[2] for method in methods}}
        found: dict[str, Floats] = {}
        for method, correlation, arrivals in methods:
            totals = None
            if method != "true":
                forest = self._forest_at(situation) if method == "forest" else None
                totals = situation.draws(method, correlation, self.samples, seed, forest=forest)
            starts = situation.sample(
                futures[arrivals], totals, self.samples, threads=self.threads, asked=waiting
            )
            found_starts = sample_quantiles(starts, LEVELS)
            waits = np.where(np.isfinite(found_starts), found_starts - at, _LATEST)
            found[_name((method, correlation, arrivals))] = waits
        limits = situation.draws("limits", 0.0, 1, seed)
        plan = situation.sample([], limits, 1, asked=waiting)[0] - at
        found[_PLAN] = np.repeat(plan[None, :], len(LEVELS), axis=0)
        return found | {
            name: baseline.quantiles(at, waiting, LEVELS) for name, baseline in self.baselines.items()
        }

    def _forest_at(self, situation: Situation) -> ShareForest:
        """Return the forest, fitted at most a day ago."""
        if self.forest is None or situation.known.at >= self.forest.at + _DAY:
            self.forest = ShareForest.fit(self.kinds, situation.known)
        return self.forest


@dataclass(frozen=True, eq=False)
class _Forecasts:
    """Cases, and the forecasts of each method: float64, shape (levels, cases), seconds from the instant."""

    cases: Cases
    features: Floats
    by_method: Mapping[str, Floats]

    def adjustment(self, name: str, is_used: npt.NDArray[np.bool_] | None = None) -> Adjustment:
        """Fit the adjustment of a method, on some of the cases."""
        part = slice(None) if is_used is None else is_used
        cases, forecast = self.cases, self.by_method[name][:, part]
        return Adjustment.fit(forecast, cases.outcome[part], cases.instant[part], LEVELS, median=MEDIAN)

    def choose(self, methods: Sequence[Method]) -> tuple[Method, bool]:
        """Choose a method, and whether it is adjusted, by its calibration in blocks of the instants.

        The instants are cut into blocks in the order of time. The last third of the log is one more block, so
        each block but the first is forecast in the same way: with an adjustment fitted on the blocks before
        it. The mean difference from 80 % over these blocks is the expected one in the last third. An adjusted
        candidate is chosen only if no raw one is calibrated: an adjustment is one more thing that may change.
        """
        block = self.cases.instant * _BLOCKS // (self.cases.instant.max() + 1)
        if len(np.unique(block)) < _BLOCKS:
            return methods[0], False
        is_scored = block > 0
        scored = self.cases.part(is_scored)

        def rank(candidate: tuple[Method, bool]) -> tuple[int, float]:
            name, is_adjusted = _name(candidate[0]), candidate[1]
            forecast = self.by_method[name].copy()
            far = []
            for each in range(1, _BLOCKS):
                own = block == each
                if is_adjusted:
                    forecast[:, own] = self.adjustment(name, block < each).apply(forecast[:, own])
                far.append(abs(Scores.of(forecast[:, own], self.cases.part(own)).coverage[80] - 0.8))
            mean = float(np.mean(far))
            if mean > _TOLERANCE:
                return 2, mean
            return int(is_adjusted), Scores.of(forecast[:, is_scored], scored).pinball_by_instants

        return min(product(methods, (False, True)), key=rank)


def _name(method: Method) -> str:
    return f"{method[0]}, {method[1]:g}, {method[2]}"


def _scored(
    calibrated: _Forecasts, tested: _Forecasts, chosen: Method, *, is_adjusted: bool, left_out: int
) -> Evaluation:
    """Score the methods on the test instants; everything fitted is of the calibration instants."""
    own = _name(chosen)
    adjusted = calibrated.adjustment(own).apply(tested.by_method[own])
    plan = calibrated.adjustment(_PLAN).apply(tested.by_method[_PLAN])
    others = {name: each for name, each in tested.by_method.items() if name != own}
    if has_regression():
        boosted = BoostedWaits.fit(calibrated.features, calibrated.cases.outcome, LEVELS)
        others[_BOOSTED] = boosted.quantiles(tested.features)
    methods = {
        _OURS: adjusted if is_adjusted else tested.by_method[own],
        "forecast, raw": tested.by_method[own],
        "forecast, adjusted": adjusted,
        _PLAN: others.pop(_PLAN),
        "plan, adjusted": plan,
        **others,
    }
    scores, classes, shares = [], [], []
    for name, forecast in methods.items():
        score = Scores.of(forecast, tested.cases)
        covered = {f"coverage_{level}": share for level, share in score.coverage.items()}
        plain = {key: value for key, value in vars(score).items() if key != "coverage"}
        scores.append({"method": name, **covered, **plain})
        names = ("class", "cases", "instants", "coverage_80", "coverage_error")
        classes += [
            {"method": name, **dict(zip(names, each, strict=True))}
            for each in coverage_by_class(forecast, tested.cases)
        ]
        below = reliability(forecast, tested.cases.outcome, LEVELS)
        shares += [
            {"method": name, "level": level, "share": float(share)}
            for level, share in zip(LEVELS, below, strict=True)
        ]
    known = dict(zip(("draws", "correlation", "arrivals"), chosen, strict=True)) | {"adjusted": is_adjusted}
    return Evaluation(
        len(np.unique(tested.cases.instant)),
        len(tested.cases),
        left_out,
        known,
        pl.DataFrame(scores),
        pl.DataFrame(classes),
        pl.DataFrame(shares),
    )
