"""The measures of runs at controlled rates, as pure functions (S19).

They are those of A. Rumyantsev, T. Morozova and R. Basmadjian (FRUCT 2018), whose numbers equations have
here. Measures of jobs are Series with one value per row of the workload, null where a job was never served;
those of the system are averages over time, from the first arrival to the last departure (or to now, where
jobs are left). A run without `control` serves at rate 1 throughout. A rate of its own that a scheduler gave
a job (`view.set_rate`) is not seen here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import ResultError, shown
from batchlab.lazy import listing
from batchlab.result.course import Course, Steps, done_in_runs, rates_of
from batchlab.result.service_intervals import ServiceIntervals, processors_of
from batchlab.units import is_finite
from batchlab.workload.work import work_of_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.observer import NodePower
    from batchlab.result.result import Result

    Floats = npt.NDArray[np.float64]

__all__ = [
    "RatePrices",
    "delay",
    "describe",
    "effective_load",
    "energy",
    "energy_budget",
    "mean_busy",
    "mean_power",
    "mean_present",
    "mean_queued",
    "mean_workload",
    "potential_load",
    "preemptions",
    "service_time",
    "slowdown",
    "sojourn",
    "waste",
    "work_served",
    "workload",
]

__dir__ = listing(__name__)


@dataclass(frozen=True)
class RatePrices:
    """What a processor draws at each rate.

    Parameters
    ----------
    busy, idle
        Watts by rate: e(r) while a job holds it, and e0(r) while none does.

    Raises
    ------
    ResultError
        If they do not have the same rates, or one is not a finite number >= 0.

    Examples
    --------
    >>> RatePrices(busy={2.0: 0.041, 2.66: 0.034}, idle={2.0: 0.014, 2.66: 0.018}).busy[2.0]
    0.041
    """

    busy: Mapping[float, float]
    idle: Mapping[float, float]

    def __post_init__(self) -> None:
        for name in ("busy", "idle"):
            prices = getattr(self, name)
            if not isinstance(prices, Mapping) or not prices:
                raise ResultError(f"{name} = {shown(prices)}; must give watts by rate, as {{2.0: 0.041}}.")
            for value in prices.values():
                if not is_finite(value) or value < 0:
                    raise ResultError(f"{name} holds {shown(value)}; must be a finite number of watts >= 0.")
        if set(self.busy) != set(self.idle):
            rates = f"busy has the rates {sorted(self.busy)}, idle {sorted(self.idle)}"
            raise ResultError(f"{rates}; give the same.")

    def at(self, name: str, rates: Floats) -> Floats:
        """Give the watts of each rate.

        Raises
        ------
        ResultError
            If a rate has no price.
        """
        prices: Mapping[float, float] = getattr(self, name)
        # Prices are few, and the times with a rate many.
        known = np.array(sorted(prices), np.float64)
        place = np.minimum(np.searchsorted(known, rates), len(known) - 1)
        missing = rates[known[place] != rates]
        if missing.size:
            raise ResultError(f"{name} has no price of rate {missing[0]:g}; the run served at it. Add it.")
        return np.array([prices[rate] for rate in known.tolist()])[place]

    def of_nodes(self, processors: int, resource: str = "core") -> dict[float, NodePower]:
        """Give what nodes draw at each rate, as `Power` takes it.

        Parameters
        ----------
        processors
            How many each node has.
        resource
            What jobs ask for processors by.

        Raises
        ------
        ObserverError
            If a processor draws less while a job holds it than while none does.

        Examples
        --------
        >>> prices = RatePrices(busy={1.0: 30, 2.0: 50}, idle={1.0: 10, 2.0: 20})
        >>> prices.of_nodes(4)[2.0]
        NodePower(idle=80, busy=80, per_unit={'core': 30}, drained=80)
        """
        from batchlab.observer import NodePower  # noqa: PLC0415  # not needed where no power is measured

        found = {}
        for rate, busy in self.busy.items():
            idle = processors * self.idle[rate]
            found[rate] = NodePower(idle=idle, per_unit={resource: busy - self.idle[rate]}, drained=idle)
        return found


def _of_jobs(name: str, values: Floats) -> pl.Series:
    return pl.Series(name, values, nan_to_null=True)


def _first_start(result: Result, runs: ServiceIntervals) -> Floats:
    first = np.full(len(result.outcome.state), np.inf)
    np.minimum.at(first, runs.row, runs.start)
    return np.where(np.isinf(first), np.nan, first)


def _submit(result: Result) -> Floats:
    return result.workload.jobs["submit_time"].to_numpy()


def delay(result: Result) -> pl.Series:
    """Give the time from the arrival of each job to its first service, t^S − t (6), in seconds."""
    return _of_jobs("delay", _first_start(result, result.service_runs) - _submit(result))


def sojourn(result: Result) -> pl.Series:
    """Give the time from the arrival of each job to its departure, t^D − t (8), in seconds."""
    values = np.where(delay(result).is_null().to_numpy(), np.nan, result.outcome.end_time - _submit(result))
    return _of_jobs("sojourn", values)


def service_time(result: Result, *, preemptions: bool = False) -> pl.Series:
    """Give the time from the first service of each job to its departure, t^D − t^S, in seconds.

    Parameters
    ----------
    result
        A run.
    preemptions
        Whether only the intervals count in which it was served, which differ where it was preempted.
    """
    runs = result.service_runs
    if preemptions:
        total = np.bincount(runs.row, runs.end - runs.start, len(result.outcome.state))
        values = np.where(np.isnan(result.outcome.end_time), np.nan, total)
    else:
        values = result.outcome.end_time - _first_start(result, runs)
    return _of_jobs("service_time", np.where(delay(result).is_null().to_numpy(), np.nan, values))


def slowdown(result: Result) -> pl.Series:
    """Give the sojourn of each job over its service time; where that is 0, 1 without a delay, else infinite.

    The paper prints the delay as divisor, against its text.
    """
    spent, served = sojourn(result).to_numpy(), service_time(result, preemptions=True).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = spent / served
    return _of_jobs("slowdown", np.where((spent == 0) & (served == 0), 1.0, ratio))


def preemptions(result: Result) -> pl.Series:
    """Give how often each job was taken from its nodes before its end; Int64."""
    runs = result.service_runs
    cut = runs.row[~np.isnan(runs.saved)]
    return pl.Series("preemptions", np.bincount(cut, minlength=len(result.outcome.state)).astype(np.int64))


def energy_budget(result: Result, prices: RatePrices) -> pl.Series:
    """Give the energy of each job in joules: N Σ e(R) τ over the times for which it held its nodes (9)."""
    runs = result.service_runs
    joules = np.zeros(len(runs.row))
    for control, steps in enumerate(rates_of(result.as_served)):
        held = runs.processors[:, control]
        if held.any():
            spent = Steps(steps.time, prices.at("busy", steps.value))
            joules += held * (spent.integral(runs.end) - spent.integral(runs.start))
    return pl.Series("energy_budget", np.bincount(runs.row, joules, len(result.outcome.state)))


def potential_load(result: Result) -> float | None:
    """Give the mean rate at which work could be done: R c while a job waits, R φ while none does."""
    course = result.course
    return course.mean(_potential(course))


def effective_load(result: Result) -> float | None:
    """Give the mean rate at which work was done by busy processors, R φ."""
    course = result.course
    return course.mean(course.weighted_fall)


def _potential(course: Course) -> Floats:
    return np.where(course.is_waiting, course.rates @ course.capacity, course.weighted_fall)


def waste(result: Result) -> float:
    """Give the work that idle processors could have done while jobs waited, (c − φ) R τ added up (10)."""
    course = result.course
    return float((_potential(course) - course.weighted_fall) @ course.duration)


def energy(result: Result, prices: RatePrices) -> float:
    """Give the energy of the run in joules: (φ e(R) + (c − φ) e0(R)) τ added up (11)."""
    course = result.course
    return float(_power(course, prices) @ course.duration)


def mean_power(result: Result, prices: RatePrices) -> float | None:
    """Give the mean power in watts, Ē of (11) and (12)."""
    course = result.course
    return course.mean(_power(course, prices))


def _power(course: Course, prices: RatePrices) -> Floats:
    power = np.zeros(len(course.time))
    for control in np.flatnonzero(course.capacity):
        rates, busy = course.rates[:, control], course.busy[:, control]
        idle = course.capacity[control] - busy
        power += busy * prices.at("busy", rates) + idle * prices.at("idle", rates)
    return power


def workload(result: Result) -> pl.DataFrame:
    """Give the workload process W(t): what work the jobs there have left.

    Returns
    -------
    polars.DataFrame
        One row per change, Float64: ``time`` (s), ``workload`` from then on, ``weighted_workload`` with the
        work of each job times its processors, and ``fall``, how much is served each second until the next
        row; Int64: ``present`` and ``served`` jobs.
    """
    course = result.course
    return pl.DataFrame(
        {
            "time": course.time,
            "workload": course.workload,
            "weighted_workload": course.weighted_workload,
            "fall": course.fall,
            "present": course.present,
            "served": course.served,
        }
    )


def mean_workload(result: Result, *, weighted: bool = False) -> float | None:
    """Give the average of W(t) over time, by its exact integral; of the weighted one where asked for."""
    course = result.course
    level, fall = course.workload, course.fall
    if weighted:
        level, fall = course.weighted_workload, course.weighted_fall
    return course.mean(level - fall * course.duration / 2)


def mean_present(result: Result) -> float | None:
    """Give the mean number of jobs that wait or run, ν̄ (12)."""
    course = result.course
    return course.mean(course.present.astype(np.float64))


def mean_queued(result: Result) -> float | None:
    """Give the mean number of jobs that wait, Q̄."""
    course = result.course
    return course.mean((course.present - course.served).astype(np.float64))


def mean_busy(result: Result) -> float | None:
    """Give the mean number of processors that jobs hold, φ̄."""
    course = result.course
    return course.mean(course.busy.sum(axis=1))


def work_served(result: Result) -> tuple[float, float]:
    """Give Σ N S of what jobs had to do, and ∫ R φ dt of what was served: equal but for rounding.

    Jobs that were killed count with what they did; with `overheads` of execution the second is larger.
    """
    runs = result.service_runs
    done = done_in_runs(rates_of(result.as_served), runs)
    processors, work = (
        processors_of(result.as_served),
        work_of_jobs(result.workload, result.options.reference_rate),
    )
    in_full = result.jobs["state"].to_numpy() == "completed"
    others = ~in_full[runs.row]
    again = np.where(np.isnan(runs.saved), 0.0, done - runs.saved)
    asked = float((work * processors)[in_full].sum())
    asked += float((done * runs.width)[others].sum() + (again * runs.width)[~others].sum())
    return asked, float((done * runs.width).sum())


def describe(result: Result, prices: RatePrices | None = None) -> dict[str, float | None]:
    """Give all measures of the system by name; those of energy where prices are given."""
    found: dict[str, float | None] = {
        "mean_delay": _mean(delay(result)),
        "mean_sojourn": _mean(sojourn(result)),
        "mean_workload": mean_workload(result),
        "mean_present": mean_present(result),
        "mean_queued": mean_queued(result),
        "mean_busy": mean_busy(result),
        "potential_load": potential_load(result),
        "effective_load": effective_load(result),
        "waste": waste(result),
    }
    if prices is not None:
        found |= {"energy": energy(result, prices), "mean_power": mean_power(result, prices)}
    return found


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return mean if isinstance(mean, float) else None
