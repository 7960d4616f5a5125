"""The measures of runs at controlled rates, as pure functions (S19).

They are those of A. Rumyantsev, T. Morozova and R. Basmadjian (FRUCT 2018), whose numbers equations have
here. Measures of jobs are Series with one value per row of the workload, null if the job was never served;
those of the system are averages over time, from the first arrival to the last departure (or to now, if jobs
are left). A run without `control` serves at rate 1 throughout. Rates that a scheduler gave single jobs
(`view.set_rate`) are ignored here.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.lazy import make_dir
from batchlab.errors import ResultError
from batchlab.result.course import (
    Course,
    ServiceIntervals,
    Steps,
    done_in_runs,
    processors_of,
    rates_of,
    span_of,
    work_required,
)
from batchlab.result.energy import RatePrices, energy_of_nodes, holdings_of, on_since
from batchlab.system.controlled_nodes import control_of_node

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.energy import Prices
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

__dir__ = make_dir(__name__)


def _of_jobs(name: str, values: Floats) -> pl.Series:
    return pl.Series(name, values, nan_to_null=True)


def _first_start(result: Result, runs: ServiceIntervals) -> Floats:
    first = np.full(len(result.outcome.state), np.inf)
    np.minimum.at(first, runs.row, runs.start)
    return np.where(np.isinf(first), np.nan, first)


def _submit(result: Result) -> Floats:
    return result.workload.jobs["submit_time"].to_numpy()


@checked(ResultError)
def delay(result: Result) -> pl.Series:
    """Compute the time from the arrival of each job to its first service, t^S − t (6), in seconds."""
    return _of_jobs("delay", _first_start(result, result.service_runs) - _submit(result))


@checked(ResultError)
def sojourn(result: Result) -> pl.Series:
    """Compute the time from the arrival of each job to its departure, t^D − t (8), in seconds."""
    values = np.where(delay(result).is_null().to_numpy(), np.nan, result.outcome.end_time - _submit(result))
    return _of_jobs("sojourn", values)


@checked(ResultError)
def service_time(result: Result, *, preemptions: bool = False) -> pl.Series:
    """Compute the time from the first service of each job to its departure, t^D − t^S, in seconds.

    Parameters
    ----------
    result
        A run.
    preemptions
        True to count only the intervals in which it was served, which differ if it was preempted.
    """
    runs = result.service_runs
    if preemptions:
        total = np.bincount(runs.row, runs.end - runs.start, len(result.outcome.state))
        values = np.where(np.isnan(result.outcome.end_time), np.nan, total)
    else:
        values = result.outcome.end_time - _first_start(result, runs)
    return _of_jobs("service_time", np.where(delay(result).is_null().to_numpy(), np.nan, values))


@checked(ResultError)
def slowdown(result: Result) -> pl.Series:
    """Compute the sojourn of each job over its service time; if that is 0, 1 without a delay, else infinite.

    The paper prints the delay as divisor, contrary to its text.
    """
    spent, served = sojourn(result).to_numpy(), service_time(result, preemptions=True).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = spent / served
    return _of_jobs("slowdown", np.where((spent == 0) & (served == 0), 1.0, ratio))


@checked(ResultError)
def preemptions(result: Result) -> pl.Series:
    """Count how often each job was removed from its nodes before its end; Int64."""
    runs = result.service_runs
    cut = runs.row[~np.isnan(runs.saved)]
    return pl.Series("preemptions", np.bincount(cut, minlength=len(result.outcome.state)).astype(np.int64))


@checked(ResultError)
def energy_budget(result: Result, prices: RatePrices) -> pl.Series:
    """Return the energy of each job in joules: N Σ e(R) τ while it held nodes that were on (9).

    N is the number of processors held: the number requested, or all of its nodes if the job is exclusive. The
    energy of nodes that wake belongs to no job.
    """
    run = result.run_record
    held = holdings_of(run)
    begin = on_since(run, held)
    # Where nodes have no cores, tasks are processors.
    place = run.system.resources.index("core") if "core" in run.system.resources else -1
    number = control_of_node(run.system, run.options.controls)[held.node]
    joules = np.zeros(len(held.row))
    for control, steps in enumerate(rates_of(run), start=1):
        # The nodes without a control have the number 0, and the last rate.
        own = number == (control if control <= len(run.options.controls) else 0)
        if own.any():
            spent = Steps(steps.time, prices.at("busy", steps.value))
            watched = spent.integral(held.end[own]) - spent.integral(begin[own])
            joules[own] = held.units[own, place] * watched
    return pl.Series("energy_budget", np.bincount(held.row, joules, len(result.outcome.state)))


@checked(ResultError)
def potential_load(result: Result) -> float | None:
    """Compute the mean rate at which work could be done: R c while a job waits, R φ while none does."""
    course = result.course
    return course.mean(_potential(course))


@checked(ResultError)
def effective_load(result: Result) -> float | None:
    """Compute the mean rate at which work was done by busy processors, R φ."""
    course = result.course
    return course.mean(course.weighted_fall)


def _potential(course: Course) -> Floats:
    return np.where(course.is_waiting, course.rates @ course.capacity, course.weighted_fall)


@checked(ResultError)
def waste(result: Result) -> float:
    """Compute the work that idle processors could have done while jobs waited, Σ (c − φ) R τ (10)."""
    course = result.course
    return float((_potential(course) - course.weighted_fall) @ course.duration)


@checked(ResultError)
def energy(result: Result, prices: Prices) -> float:
    """Compute the energy of the run in joules: the sum of (φ e(R) + (c − φ) e0(R)) τ (11).

    Nodes that sleep, boot or are closed have prices of their own; the result equals that of `Power`.

    Parameters
    ----------
    result
        A run.
    prices
        Watts of a processor by rate, or of nodes in the form that `Power` accepts.

    Raises
    ------
    ResultError
        If a rate at which the run served has no price.
    """
    return float(energy_of_nodes(result.run_record, prices).sum())


@checked(ResultError)
def mean_power(result: Result, prices: Prices) -> float | None:
    """Compute the mean power in watts, Ē of (11) and (12); None if no time has passed."""
    first, last = span_of(result.run_record)
    return energy(result, prices) / (last - first) if last > first else None


@checked(ResultError)
def workload(result: Result) -> pl.DataFrame:
    """Compute the workload process W(t): the remaining work of the jobs present.

    Returns
    -------
    polars.DataFrame
        One row per change, Float64: ``time`` (s), ``workload`` from then on, ``weighted_workload`` with the
        work of each job times its processors, and ``fall``, the work served per second until the next row;
        Int64: ``present`` and ``served`` jobs.
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


@checked(ResultError)
def mean_workload(result: Result, *, weighted: bool = False) -> float | None:
    """Compute the average of W(t) over time from its exact integral; of the weighted one if requested."""
    course = result.course
    level, fall = course.workload, course.fall
    if weighted:
        level, fall = course.weighted_workload, course.weighted_fall
    return course.mean(level - fall * course.duration / 2)


@checked(ResultError)
def mean_present(result: Result) -> float | None:
    """Compute the mean number of jobs that wait or run, ν̄ (12)."""
    course = result.course
    return course.mean(course.present.astype(np.float64))


@checked(ResultError)
def mean_queued(result: Result) -> float | None:
    """Compute the mean number of jobs that wait, Q̄."""
    course = result.course
    return course.mean((course.present - course.served).astype(np.float64))


@checked(ResultError)
def mean_busy(result: Result) -> float | None:
    """Compute the mean number of processors that jobs hold, φ̄."""
    course = result.course
    return course.mean(course.busy.sum(axis=1))


@checked(ResultError)
def work_served(result: Result) -> tuple[float, float]:
    """Compute Σ N S of the work of jobs, and ∫ R φ dt of the work served: equal except for rounding.

    Jobs that were killed count with the work they did; with `overheads` of execution the second is larger.
    """
    runs = result.service_runs
    done = done_in_runs(rates_of(result.run_record), runs)
    processors = processors_of(result.run_record)
    work = work_required(result.run_record, runs, done)
    in_full = result.jobs["state"].to_numpy() == "completed"
    others = ~in_full[runs.row]
    again = np.where(np.isnan(runs.saved), 0.0, done - runs.saved)
    asked = float((work * processors)[in_full].sum())
    asked += float((done * runs.width)[others].sum() + (again * runs.width)[~others].sum())
    return asked, float((done * runs.width).sum())


@checked(ResultError)
def describe(result: Result, prices: RatePrices | None = None) -> dict[str, float | None]:
    """Compute all measures of the system by name; those of energy if prices are given.

    The value is None if it is undefined or beyond float64, such as the work at a rate of 1e308.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found: dict[str, float | None] = {
            "mean_delay": _mean(delay(result)),
            "mean_sojourn": _mean(sojourn(result)),
            "mean_slowdown": _mean(slowdown(result)),
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
            found["mean_energy_budget"] = _mean(energy_budget(result, prices))
    return {name: value if value is not None and isfinite(value) else None for name, value in found.items()}


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return mean if isinstance(mean, float) else None
