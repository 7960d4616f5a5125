"""Workloads: arrivals, run times and sizes of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from batchlab.core.rules import Number, Optional, check
from batchlab.errors import ResultError
from batchlab.plot.canvas import begin, choice, plot
from batchlab.plot.distribution import classes, logarithmic
from batchlab.plot.results import Workloads, job_tables
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.workload.workload import Workload

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["arrivals", "job_sizes", "run_times"]

Per: TypeAlias = Literal["hour", "day", "month"]

_CLASSES = {
    "hour": [str(hour) for hour in range(24)],
    "day": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    "month": ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
}
_LOOKS = 200_000
_ORIGIN = Optional(Number(-(10**11), most=10**11, unit="seconds since 1970"))
_HOUR = 3600.0
# Shorter logs do not have every class.
_LONG: dict[Per, float] = {"hour": 24, "day": 7 * 24, "month": 28 * 24}
_RATE_LABELS = {"hour": "hour of the day", "day": "day of the week", "month": "month"}


@plot
def arrivals(
    workloads: Workloads,
    *,
    ax: Axes | None = None,
    per: Per = "hour",
    start_time: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the submissions by hour, weekday or month (Figs. 14 and 15 of [1]): their shares of all jobs.

    Shares are of the rates of arrivals: the jobs of each class divided by the time that the log spent in it,
    so that a month which a log has twice does not count double.

    The clock is the machine's, as given in the log's header: ``UnixStartTime`` in the zone
    ``TimeZoneString``, else shifted by ``TimeZone``, else in UTC. A workload whose header lacks this is
    assumed to begin with the first one whose header has it; else time 0 is a Thursday's midnight, the 1st of
    January 1970.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.
    per
        ``"hour"``, ``"day"`` or ``"month"``.
    start_time
        The workloads' origin in seconds since 1970, on the machine's own clock [default: the header's].

    Raises
    ------
    ResultError
        If there is no workload, something else is among them, or the class is unknown.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("per", per, _CLASSES)
    start_time = check(ResultError, "start_time", start_time, _ORIGIN)
    tables = [*job_tables(workloads)]
    known = [workload.header.unix_start_time for each in tables for workload in each.workloads]
    usual = next((began for began in known if began is not None), 0)
    rates = {}
    for each in tables:
        both = np.array([_observed(workload, per, start_time, usual) for workload in each.workloads])
        jobs, hours = both.sum(axis=0)
        rates[each.label] = np.divide(jobs, hours, out=np.zeros(len(jobs)), where=hours > 0)
    ax = classes(begin(ax, title=title), rates, _CLASSES[per])
    if ax.has_data():
        ax.set_xlabel(_RATE_LABELS[per])
        ax.set_ylabel("share of the rate of arrivals")
    return ax


def _observed(workload: Workload, per: Per, start_time: float | None, usual: int) -> tuple[Floats, Floats]:
    """Count the jobs that were submitted in each class, and the hours that the log spent in it."""
    submitted = workload.jobs["submit_time"]
    counts = _counted(_clock(workload, submitted, start_time, usual), per)
    if submitted.is_empty():
        return counts, counts
    first, last = float(submitted.min()), float(submitted.max())  # type: ignore[arg-type]  # numbers
    middles = first + (last - first) * (np.arange(_LOOKS) + 0.5) / _LOOKS
    # Samples at equal intervals hit each class in proportion to its duration.
    looked = _counted(_clock(workload, pl.Series(middles), start_time, usual), per)
    hours = looked * (last - first) / _HOUR / _LOOKS
    return counts, hours if last - first >= _LONG[per] * _HOUR else np.where(counts > 0, 1.0, 0.0)


def _counted(clock: pl.Series, per: Per) -> Floats:
    part = {"hour": clock.dt.hour(), "day": clock.dt.weekday() - 1, "month": clock.dt.month() - 1}[per]
    return np.bincount(part.to_numpy(), minlength=len(_CLASSES[per])).astype(np.float64)


def _clock(workload: Workload, times: pl.Series, start_time: float | None, usual: int) -> pl.Series:
    """Return instants on the machine's own clock."""
    if start_time is not None:
        return pl.from_epoch((times + start_time).floor().cast(pl.Int64), time_unit="s")
    calendar = CalendarTime.of(workload.header)
    origin = calendar.origin if calendar.is_known else usual
    return pl.from_epoch(pl.Series(calendar.read((times + origin).to_numpy())), time_unit="s")


_TIME_LABELS = {"run_time": "run time", "requested_time": "requested time"}


@plot
def run_times(
    workloads: Workloads,
    *,
    ax: Axes | None = None,
    of: Literal["run_time", "requested_time"] = "run_time",
    title: str | None = None,
) -> Axes:
    """Draw the run times of jobs: shares of jobs in classes that grow, eight to a power of ten.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.
    of
        ``"run_time"`` or ``"requested_time"``; less than a second counts as one. Jobs without such a time are
        ignored.

    Raises
    ------
    ResultError
        If there is no workload, something else is among them, or the time is unknown.
    """
    column = choice("of", of, _TIME_LABELS)
    samples = {
        each.label: np.concatenate([_known(table[column]) for table in each.tables])
        for each in job_tables(workloads)
    }
    ax = logarithmic(begin(ax, title=title), samples, least=1.0, durations=True)
    if ax.has_data():
        ax.set_xlabel(_TIME_LABELS[of])
    return ax


def _known(times: pl.Series) -> npt.NDArray[np.float64]:
    """Return the known times, without those of applications that have not run, and infinite limits."""
    return times.filter(times.is_finite().fill_null(value=False)).to_numpy()


@plot
def job_sizes(workloads: Workloads, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the numbers of tasks of jobs: shares of jobs in classes up to each power of two.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.

    Raises
    ------
    ResultError
        If there is no workload, or something else is among them.
    """
    found = job_tables(workloads)
    tasks = {
        each.label: np.concatenate([table["tasks"].to_numpy() for table in each.tables]) for each in found
    }
    widest = max((int(each.max()) for each in tasks.values() if len(each)), default=1)
    powers = max(widest - 1, 0).bit_length() + 1
    edges = np.array([0, *(2**power for power in range(powers))]) + 0.5
    counts = {label: np.histogram(each, edges)[0].astype(np.float64) for label, each in tasks.items()}
    ax = classes(begin(ax, title=title), counts, [_class(power) for power in range(powers)])
    if ax.has_data():
        ax.set_xlabel("tasks of a job")
    return ax


def _class(power: int) -> str:
    low, high = 2 ** (power - 1) + 1 if power else 1, 2**power
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
