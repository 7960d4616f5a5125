"""Measures of a result: numbers by name, with their titles and formats.

Measures of jobs return a Series with one value per row, null if it is not defined: the job has not started,
not ended, was rejected, or was cancelled, except if that was while it ran in its log (S18). Aggregates ignore
nulls, so they are over the jobs that ran, whether completed, killed or cancelled in their run; the
utilisation and the makespan count all jobs that ran. Times are in seconds. A number that does not exist (the
mean of nothing) is ``None``, never NaN.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from batchlab import _kernel
from batchlab.core.arguments import checked
from batchlab.core.lazy import make_dir
from batchlab.core.rules import is_finite
from batchlab.core.vocabulary import JOB_STATES, REJECTION_REASONS
from batchlab.errors import ResultError, shown
from batchlab.result.efficiency import allocation_efficiency
from batchlab.result.timeline import before_resizes, demands, steps
from batchlab.system.system import System
from batchlab.workload.run_events import RUN_EVENTS
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.system.system import System

__all__ = [
    "USUAL_THRESHOLD",
    "allocation_efficiency",
    "bounded_slowdown",
    "describe",
    "interrupted",
    "loss_of_capacity",
    "makespan",
    "overview",
    "per_processor_slowdown",
    "queue_length",
    "rejected",
    "slowdown",
    "states",
    "throughput",
    "turnaround",
    "utilisation",
    "wait",
]


def is_measured(jobs: pl.DataFrame) -> pl.Expr:
    """Return whether jobs are measured: all but those that are known to be cancelled before they started.

    Parameters
    ----------
    jobs
        A table of a result; without ``state`` all of its jobs are measured.

    Returns
    -------
    polars.Expr
        True for a job that was cancelled while it ran.
    """
    if "state" not in jobs.columns:
        return pl.lit(value=True)
    measured = (pl.col("state") != "cancelled").fill_null(value=True)
    if RUN_EVENTS in jobs.columns:
        measured |= pl.col(RUN_EVENTS).str.ends_with("cancel").fill_null(value=False)
    return measured


def counted(jobs: pl.DataFrame, measured: pl.Expr) -> pl.Expr:
    """Return a measure of the jobs that are measured; null for the others.

    Parameters
    ----------
    jobs
        As for `is_measured`.
    measured
        The measure of all jobs.
    """
    return pl.when(is_measured(jobs)).then(measured)


_Others = ParamSpec("_Others")
_Value_co = TypeVar("_Value_co", covariant=True)
_PARTS = ("system", "interruptions", "resizes")


class Schedule(Protocol):
    """The parts of a `Result` that measures use besides its table of jobs.

    Its table of jobs is not named here, since pyright takes no cached property for a property.
    """

    @property
    def system(self) -> System:
        """The machine."""
        ...

    def metrics(self) -> dict[str, object]:
        """Return all aggregates."""
        ...


class Measure(Protocol[_Others, _Value_co]):
    """A measure of a table of jobs, or of a `Result`."""

    def __call__(
        self, jobs: pl.DataFrame | Schedule, /, *others: _Others.args, **named: _Others.kwargs
    ) -> _Value_co:
        """Measure."""
        ...


class MeasureOfSystem(Protocol[_Others, _Value_co]):
    """A measure of a table of jobs and of more, or of a `Result` alone."""

    @overload
    def __call__(self, jobs: Schedule, /) -> _Value_co: ...

    @overload
    def __call__(
        self, jobs: pl.DataFrame, /, *others: _Others.args, **named: _Others.kwargs
    ) -> _Value_co: ...


def of_jobs(measure: Callable[Concatenate[pl.DataFrame, _Others], _Value_co]) -> Measure[_Others, _Value_co]:
    """Let a measure of a table of jobs accept a result."""
    return cast("Measure[_Others, _Value_co]", _of_result(measure))


def of_system(
    measure: Callable[Concatenate[pl.DataFrame, _Others], _Value_co],
) -> MeasureOfSystem[_Others, _Value_co]:
    """Let a measure that needs a table of jobs and more (system, interruptions, resizes) accept a result."""
    return cast("MeasureOfSystem[_Others, _Value_co]", _of_result(measure))


def _of_result(measure: Callable[..., Any]) -> Callable[..., Any]:
    code = measure.__code__
    parts = [name for name in code.co_varnames[: code.co_argcount] if name in _PARTS]

    @wraps(measure)
    def measured(jobs: object, *others: object, **named: object) -> object:
        if is_frame(jobs):
            return measure(as_polars(jobs), *others, **named)
        table = getattr(jobs, "jobs", None)
        if not isinstance(table, pl.DataFrame):
            rule = "must be a Result, or a table as result.jobs"
            raise ResultError(f"jobs = {shown(jobs)}; {rule}.")
        known = {} if others else {name: getattr(jobs, name) for name in parts if name not in named}
        return measure(table, *others, **known, **named)

    return measured


__dir__ = make_dir(__name__)

USUAL_THRESHOLD = 10.0
"""Bounded slowdowns replace shorter run times by this one, in seconds."""


@of_jobs
def wait(jobs: pl.DataFrame) -> pl.Series:
    """Compute the time from submission to start.

    Parameters
    ----------
    jobs
        A table with columns ``submit_time`` and ``start_time``.

    Returns
    -------
    polars.Series
        Float64, seconds, one per row; null for jobs that have not started, and for cancelled ones.
    """
    return jobs.select(counted(jobs, _WAIT).cast(pl.Float64).alias("wait")).to_series()


@of_jobs
def turnaround(jobs: pl.DataFrame) -> pl.Series:
    """Compute the time from submission to end, also called response or residence time.

    Parameters
    ----------
    jobs
        A table with columns ``submit_time`` and ``end_time``.

    Returns
    -------
    polars.Series
        Float64, seconds, one per row; null for jobs that have not ended, and for cancelled ones.
    """
    return jobs.select(counted(jobs, _TURNAROUND).cast(pl.Float64).alias("turnaround")).to_series()


@of_jobs
def slowdown(jobs: pl.DataFrame) -> pl.Series:
    """Compute the turnaround over the run time.

    For a killed job the run time is the time that it was allowed to run, ``end_time - start_time``; so it is
    for one without a run time, which then depends on its application. Very short jobs dominate any average of
    this measure; `bounded_slowdown` is more usual.

    Parameters
    ----------
    jobs
        A table with columns ``submit_time``, ``start_time``, ``end_time``, ``run_time`` and, if jobs may have
        been killed, ``state``.

    Returns
    -------
    polars.Series
        Float64, at least 1, one per row; null for jobs that have not ended, and for those whose run took no
        time, for which the ratio is not defined.

    References
    ----------
    D. G. Feitelson, L. Rudolph, U. Schwiegelshohn, K. C. Sevcik and P. Wong, "Theory and practice in parallel
    job scheduling", JSSPP 1997.
    """
    ran = _run_time(jobs)
    ratio = pl.when(ran > 0).then(counted(jobs, _TURNAROUND) / ran)
    return jobs.select(ratio.cast(pl.Float64).alias("slowdown")).to_series()


@of_jobs
def bounded_slowdown(jobs: pl.DataFrame, threshold: float = USUAL_THRESHOLD) -> pl.Series:
    """Compute the slowdown with run times below a threshold replaced by the threshold.

    max(1, turnaround / max(run_time, threshold)), where a killed job has the run time that `slowdown` uses.

    Parameters
    ----------
    jobs
        A table with the columns that `slowdown` needs.
    threshold
        Seconds, above 0.

    Returns
    -------
    polars.Series
        Float64, at least 1, one per row; null for jobs that have not ended.

    Raises
    ------
    ResultError
        If the threshold is not above 0.

    References
    ----------
    D. G. Feitelson, L. Rudolph, U. Schwiegelshohn, K. C. Sevcik and P. Wong, "Theory and practice in parallel
    job scheduling", JSSPP 1997.
    """
    _check(threshold)
    ratio = counted(jobs, _TURNAROUND) / _at_least(_run_time(jobs), threshold)
    return jobs.select(_at_least(ratio, 1).cast(pl.Float64).alias("bounded_slowdown")).to_series()


@of_jobs
def per_processor_slowdown(jobs: pl.DataFrame, threshold: float = USUAL_THRESHOLD) -> pl.Series:
    """Compute the bounded slowdown per processor, which weights the wait of a wide job less heavily.

    max(1, turnaround / (processors × max(run_time, threshold))). The processors are what the job held of the
    resource ``core`` (column ``allocated_core``; at the end, if it was resized), or its tasks if there is no
    such column.

    Parameters
    ----------
    jobs
        A table with the columns that `slowdown` needs, and ``allocated_core`` or ``tasks``.
    threshold
        Seconds, above 0.

    Returns
    -------
    polars.Series
        Float64, at least 1, one per row; null for jobs that have not ended.

    References
    ----------
    D. Zotkin and P. J. Keleher, "Job-length estimation and performance in backfilling schedulers", HPDC 1999;
    in this bounded form: D. G. Feitelson, "Metrics for parallel job scheduling and their convergence",
    JSSPP 2001.
    """
    _check(threshold)
    processors = pl.col("allocated_core" if "allocated_core" in jobs.columns else "tasks").clip(lower_bound=1)
    ratio = counted(jobs, _TURNAROUND) / (processors * _at_least(_run_time(jobs), threshold))
    return jobs.select(_at_least(ratio, 1).cast(pl.Float64).alias("per_processor_slowdown")).to_series()


@checked(ResultError)
def describe(series: pl.Series) -> dict[str, float | None]:
    """Summarise a measure.

    Parameters
    ----------
    series
        Numbers; nulls, NaN and infinities are ignored.

    Returns
    -------
    dict
        ``mean``, ``median``, ``p95``, ``p99`` and ``max``, each None if there is no number. Quantiles are
        interpolated linearly between order statistics (R's type 7, NumPy's default).
    """
    values = series.cast(pl.Float64).drop_nulls()
    return _kernel.describe(values.filter(values.is_finite()).to_numpy())


@of_jobs
def rejected(jobs: pl.DataFrame) -> dict[str, int]:
    """Count the rejected jobs by reason; reasons without jobs are omitted."""
    if "reason" not in jobs.columns:
        return {}
    rejected = jobs.filter(pl.col("state") == "rejected")["reason"]
    counted = dict(rejected.drop_nulls().cast(pl.String).value_counts().iter_rows())
    return {reason: counted[reason] for reason in REJECTION_REASONS if reason in counted}


@of_jobs
def states(jobs: pl.DataFrame) -> dict[str, int]:
    """Count the jobs in each state.

    Parameters
    ----------
    jobs
        A table with the column ``state``.

    Returns
    -------
    dict
        The number of jobs for every state, including states without jobs.
    """
    counted = dict(jobs["state"].value_counts().iter_rows())
    return {state: counted.get(state, 0) for state in JOB_STATES}


@of_jobs
def makespan(jobs: pl.DataFrame) -> float | None:
    """Compute the time from the first submission to the last end of a job that ran.

    The first submission is that of all jobs of the table, including jobs that did not run.

    Parameters
    ----------
    jobs
        A table with columns ``submit_time`` and ``end_time``.

    Returns
    -------
    float or None
        Seconds; None if no job ran.
    """
    return _until(jobs, _ran(jobs)["end_time"].max())


@of_jobs
def throughput(jobs: pl.DataFrame) -> float | None:
    """Compute the number of jobs that ran over the makespan; jobs that were cancelled do not count (S18, 10).

    Parameters
    ----------
    jobs
        A table with columns ``submit_time`` and ``end_time``.

    Returns
    -------
    float or None
        Jobs per second; None if the makespan is 0 or no job ran.
    """
    span = makespan(jobs)
    return wait(_ran(jobs)).count() / span if span else None


@of_system
def utilisation(
    jobs: pl.DataFrame,
    system: System,
    interruptions: pl.DataFrame | None = None,
    resizes: pl.DataFrame | None = None,
) -> dict[str, float | None]:
    """Compute the share of each resource's capacity that jobs held, over the makespan.

    The sum over runs of amount × (end_time - start_time), over capacity × makespan. Resources that a job
    holds without using them, such as the rest of an exclusive node, count as held; so do runs that were cut
    short. Runs that have not ended do not count. If a run that was cut short ended after the last job, the
    time until then replaces the makespan.

    Parameters
    ----------
    jobs
        A table with ``submit_time``, ``start_time``, ``end_time`` and ``allocated_<resource>`` columns.
    system
        The machine on which they ran.
    interruptions, resizes
        Tables like those of `Result`.

    Returns
    -------
    dict
        For each resource a share between 0 and 1; None if capacity or makespan is 0.
    """
    held = pl.col("end_time") - pl.col("start_time")
    amounts = [(pl.col(f"allocated_{name}") * held).cast(pl.Float64) for name in system.resources]
    ran = _ran(jobs)
    more = before_resizes(jobs, system, interruptions, resizes)
    if interruptions is None or interruptions.is_empty():
        return _shares(pl.concat([ran.select(amounts), more]), system, makespan(jobs))
    last = pl.concat([ran["end_time"], interruptions["end_time"]]).max()
    every = pl.concat([ran.select(amounts), interruptions.select(amounts), more])
    return _shares(every, system, _until(jobs, last))


@of_system
def queue_length(
    jobs: pl.DataFrame, interruptions: pl.DataFrame | None = None
) -> dict[str, float | int | None]:
    """Compute the mean and the maximum number of waiting jobs.

    The mean is over time, from the first submission to the last event. The length at an instant is the one
    after it, so a job that starts when it is submitted was never in the queue.

    Parameters
    ----------
    jobs
        A table with columns ``submit_time``, ``start_time`` and ``end_time``; jobs rejected (column
        ``state``) are not in the queue.
    interruptions
        A table like `Result.interruptions`: their jobs wait before and after them.

    Returns
    -------
    dict
        ``mean`` and ``max``, in jobs; None if there are no events, or they span no time.
    """
    return _queue_length(jobs, steps(jobs, None, interruptions))


@of_system
def loss_of_capacity(
    jobs: pl.DataFrame,
    system: System,
    interruptions: pl.DataFrame | None = None,
    resizes: pl.DataFrame | None = None,
) -> dict[str, float | None]:
    """Compute the share of each resource's capacity that was idle although waiting jobs asked for it.

    The integral over time of min(idle amount, total amount that the queued jobs ask for), over capacity ×
    time from the first submission to the last event. It includes what is lost by fragmentation and by the
    policy's order, but not what is idle for lack of jobs.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    system
        The machine on which they ran; closed or unavailable parts of it count as idle.
    interruptions, resizes
        Tables like those of `Result`.

    Returns
    -------
    dict
        For each resource a share between 0 and 1; None if there is no capacity or no time.

    References
    ----------
    V. J. Leung, G. Sabin and P. Sadayappan, "Parallel job scheduling policies to improve fairness: a case
    study", ICPP Workshops 2010. The older measure κ counts every idle node while any job waits, hence is
    never smaller: Y. Zhang, H. Franke, J. E. Moreira and A. Sivasubramaniam, "Improving parallel job
    scheduling by combining gang scheduling and backfilling techniques", IPDPS 2000.
    """
    over_time = steps(jobs, demands(jobs, system), interruptions, resizes)
    return _loss_of_capacity(jobs, over_time, system)


@checked(ResultError)
def interrupted(interruptions: pl.DataFrame) -> dict[str, float | int]:
    """Summarise the runs that were cut short and whose jobs went back to the queue.

    Parameters
    ----------
    interruptions
        A table like `Result.interruptions`.

    Returns
    -------
    dict
        ``runs`` and ``jobs`` (their numbers), ``lost_time`` (s; what must be run again).
    """
    lost = pl.col("end_time") - pl.col("start_time") - pl.col("saved")
    lost_time = _total(interruptions.select(lost).to_series())
    return {"runs": len(interruptions), "jobs": interruptions["row"].n_unique(), "lost_time": lost_time}


@checked(ResultError)
def overview(
    jobs: pl.DataFrame,
    system: System,
    *,
    threshold: float = USUAL_THRESHOLD,
    interruptions: pl.DataFrame | None = None,
    resizes: pl.DataFrame | None = None,
) -> dict[str, object]:
    """Compute all aggregates.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    system
        The machine on which they ran.
    threshold
        The threshold of the bounded slowdowns, in seconds.
    interruptions, resizes
        Tables like those of `Result`.

    Returns
    -------
    dict
        ``jobs`` (their number, and the number in each state), then, under their own names, the measures of
        this module; ready for `json.dumps`. `rejected` (jobs by reason) and `interrupted` are included only
        if jobs were rejected, or runs cut short.
    """
    ran = _ran(jobs)
    over_time = steps(jobs, demands(jobs, system), interruptions, resizes)
    cut_short = {} if interruptions is None or interruptions.is_empty() else interrupted(interruptions)
    return {
        "jobs": {"submitted": len(jobs), **states(jobs)},
        "wait": describe(wait(ran)),
        "turnaround": describe(turnaround(ran)),
        "slowdown": describe(slowdown(ran)),
        "bounded_slowdown": describe(bounded_slowdown(ran, threshold)),
        "per_processor_slowdown": describe(per_processor_slowdown(ran, threshold)),
        "makespan": makespan(jobs),
        "throughput": throughput(jobs),
        "utilisation": utilisation(jobs, system, interruptions, resizes),
        "queue_length": _queue_length(jobs, over_time),
        "loss_of_capacity": _loss_of_capacity(jobs, over_time, system),
        **({"rejected": refused} if (refused := rejected(jobs)) else {}),
        **({"interrupted": cut_short} if cut_short else {}),
    }


_WAIT = pl.col("start_time") - pl.col("submit_time")
_TURNAROUND = pl.col("end_time") - pl.col("submit_time")


def _check(threshold: float) -> None:
    if not (is_finite(threshold) and threshold > 0):
        raise ResultError(f"threshold = {shown(threshold)} s; must be > 0. The usual one is 10.")


def _ran(jobs: pl.DataFrame) -> pl.DataFrame:
    return jobs.filter(pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null())


def _run_time(jobs: pl.DataFrame) -> pl.Expr:
    ran, given = pl.col("end_time") - pl.col("start_time"), pl.col("run_time")
    # A job with an application has no given run time.
    known = pl.coalesce(given, ran)
    killed = pl.when(pl.col("state") == "killed").then(ran)
    return killed.otherwise(known) if "state" in jobs.columns else known


def _at_least(value: pl.Expr, bound: float) -> pl.Expr:
    return value.clip(lower_bound=float(bound))


def _ratio(amount: float, capacity: int, time: float | None) -> float | None:
    return float(amount) / (capacity * time) if capacity and time else None


def _total(values: pl.Series) -> float:
    """Add numbers as a run does that has no table: equal runs have equal sums, in whatever order."""
    return _kernel.total(values.cast(pl.Float64).drop_nulls().to_numpy())


def _shares(amounts: pl.DataFrame, system: System, time: float | None) -> dict[str, float | None]:
    capacities = system.total.items()
    return {
        name: _ratio(_total(amount), total, time)
        for (name, total), amount in zip(capacities, amounts.get_columns(), strict=True)
    }


def _duration() -> pl.Expr:
    # The last value has no duration.
    return (pl.col("time").shift(-1) - pl.col("time")).fill_null(0.0)


def _until(jobs: pl.DataFrame, last: object) -> float | None:
    """Compute the seconds from the first submission of all jobs of a table to a time."""
    first: Any = jobs["submit_time"].min()
    return float(last - first) if isinstance(last, int | float) and first is not None else None


def _queue_length(jobs: pl.DataFrame, over_time: pl.DataFrame) -> dict[str, float | int | None]:
    jobs_times_seconds = _total(over_time.select(pl.col("queued") * _duration()).to_series())
    longest: Any = over_time["queued"].max()
    return {"mean": _ratio(jobs_times_seconds, 1, _until(jobs, over_time["time"].max())), "max": longest}


def _loss_of_capacity(jobs: pl.DataFrame, over_time: pl.DataFrame, system: System) -> dict[str, float | None]:
    total = system.total
    lost = over_time.select(
        (pl.min_horizontal(total[name] - pl.col(f"used_{name}"), f"waiting_{name}") * _duration()).alias(name)
        for name in system.resources
    )
    return _shares(lost, system, _until(jobs, over_time["time"].max()))
