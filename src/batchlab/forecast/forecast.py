"""Forecasts of the starts of waiting jobs, and of jobs that are not yet submitted (semantics, S30)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core import rules
from batchlab.core.vocabulary import DRAW_METHODS, FORECAST_ARRIVALS
from batchlab.errors import SimulationError
from batchlab.forecast.answer import Forecast, SubmissionForecast
from batchlab.forecast.scores import interval_of_quantiles
from batchlab.forecast.situation import SAMPLES, Situation, threads_of
from batchlab.simulation.replacements import rows_of_jobs
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.core.random_streams import Floats
    from batchlab.core.vocabulary import DrawMethod, ForecastArrivals
    from batchlab.simulation import Simulation

__all__ = ["checked_levels", "forecast", "forecast_submission"]

_LEVELS = rules.List(rules.Number(above=0, below=1), "levels between 0 and 1", is_empty_valid=False)
_SIZES = rules.List(rules.COUNT, "numbers of tasks", is_empty_valid=False)
_LIMITS = rules.List(rules.Number(above=0, unit="seconds"), "time limits", is_empty_valid=False)


def forecast(
    simulation: Simulation,
    samples: int = 200,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
    *,
    horizon: float | None = None,
    draws: DrawMethod = "user_request",
    correlation: float = 1.0,
    arrivals: ForecastArrivals | None = None,
    seed: int = 0,
    precision: float | None = None,
    at: float | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Forecast:
    """Forecast when each waiting job starts; see `Simulation.forecast`.

    Raises
    ------
    SimulationError
        If an argument is invalid, or a job has no time limit to draw by.
    """
    levels = checked_levels(quantiles)
    samples, correlation, seed = _checked(samples, correlation, seed, draws, arrivals)
    threads = threads_of(threads)
    is_enough = _precise(precision, levels)
    length = math.inf if horizon is None else rules.check(SimulationError, "horizon", horizon, rules.POSITIVE)
    situation = Situation.of(simulation, at)
    until = situation.known.at + length
    starts, plan, futures = np.empty((samples, 0)), np.empty((1, 0)), situation.futures(arrivals)
    if len(situation.waiting):
        totals = None if draws == "true" else situation.draws(draws, correlation, samples, seed)
        starts = situation.sample(
            futures,
            totals,
            samples,
            until=until,
            threads=threads,
            progress=progress,
            is_enough=is_enough,
        )
        plan = situation.sample([], situation.draws("limits", 0.0, 1, seed), 1)
    return Forecast.of(
        simulation.workload,
        _clock_of(simulation),
        situation.waiting,
        situation.known.at,
        starts=starts,
        plan=plan[0],
        levels=levels,
        past_weeks=len(futures),
    )


def forecast_submission(
    simulation: Simulation,
    tasks: Sequence[int],
    limits: Sequence[float],
    *,
    like: int | None = None,
    samples: int = 200,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
    draws: DrawMethod = "user_request",
    correlation: float = 1.0,
    seed: int = 0,
    at: float | None = None,
    threads: int | None = None,
) -> SubmissionForecast:
    """Forecast when a job would start if it were submitted now; see `Simulation.forecast_submission`.

    Raises
    ------
    SimulationError
        If an argument is invalid, no job has ended, or a size cannot be forecast.
    """
    levels = checked_levels(quantiles)
    samples, correlation, seed = _checked(samples, correlation, seed, draws, "none")
    sizes = rules.check(SimulationError, "tasks", tasks, _SIZES)
    seconds = rules.check(SimulationError, "limits", limits, _LIMITS)
    threads = threads_of(threads)
    situation = Situation.of(simulation, at)
    row = _place_of(simulation, situation, like)
    totals = None if draws == "true" else situation.draws(draws, correlation, samples, seed)
    asked, cells = np.array([row]), []
    for size in sizes:
        for limit in seconds:
            future = _with_job(situation, row, size, limit)
            starts = situation.sample([future], totals, samples, threads=threads, asked=asked)
            cells.append((size, limit, starts))
    job = int(simulation.workload.jobs["job_id"][row])
    return SubmissionForecast.of(_clock_of(simulation), situation.known.at, job, cells, levels)


def _clock_of(simulation: Simulation) -> CalendarTime:
    return CalendarTime.of(simulation.workload.header, simulation.system.start_time)


def _with_job(situation: Situation, row: int, tasks: int, limit: float) -> Simulation:
    """Return a fork in which a job of this size is submitted now, in the place of another one."""
    job = int(situation.simulation.workload.jobs["job_id"][row])
    arrival = {
        "job_id": [job],
        "submit_time": [situation.known.at],
        "tasks": [tasks],
        "requested_time": [limit],
    }
    return situation.simulation.fork(arrivals=arrival)


def _place_of(simulation: Simulation, situation: Situation, like: int | None) -> int:
    """Return the row of the job whose place the new job takes.

    Raises
    ------
    SimulationError
        If no job has ended, and none is named.
    """
    if like is not None:
        whole = rules.check(SimulationError, "like", like, rules.Whole(most=2**63 - 1))
        return int(rows_of_jobs(simulation.workload, np.array([whole]), "like")[0])
    ended = np.where(np.isnan(situation.known.end_time), -math.inf, situation.known.end_time)
    ended[np.isnan(situation.known.start_time)] = -math.inf
    if not len(ended) or ended.max() == -math.inf:
        rule = "the new job takes the place of one that has. Run on, or name a job that is not yet submitted"
        raise SimulationError(f"no job has ended, and {rule} (like).")
    return int(ended.argmax())


def checked_levels(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Return the levels of a forecast.

    Raises
    ------
    SimulationError
        If one is not between 0 and 1, or they do not ascend.
    """
    levels = rules.check(SimulationError, "quantiles", quantiles, _LEVELS)
    if any(one >= other for one, other in pairwise(levels)):
        raise SimulationError(f"quantiles = {tuple(levels)}; must ascend, each level once.")
    return tuple(levels)


def _checked(
    samples: int, correlation: float, seed: int, draws: str, arrivals: str | None
) -> tuple[int, float, int]:
    rules.check(SimulationError, "draws", draws, rules.OneOf(DRAW_METHODS))
    rules.check(SimulationError, "arrivals", arrivals, rules.Optional(rules.OneOf(FORECAST_ARRIVALS)))
    return (
        rules.check(SimulationError, "samples", samples, SAMPLES),
        rules.check(SimulationError, "correlation", correlation, rules.PROBABILITY),
        rules.check(SimulationError, "seed", seed, rules.SEED),
    )


def _precise(precision: float | None, levels: Sequence[float]) -> Callable[[Floats], bool] | None:
    """Return whether samples tell every quantile with a precision, as a function of their starts.

    Raises
    ------
    SimulationError
        If the precision is not positive.
    """
    if precision is None:
        return None
    seconds = rules.check(SimulationError, "precision", precision, rules.POSITIVE)
    return lambda starts: bool((interval_of_quantiles(starts, levels) <= seconds).all())
