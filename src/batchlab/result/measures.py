"""Which jobs have a wait, a turnaround and a slowdown (semantics, S18)."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from batchlab.errors import ResultError, shown
from batchlab.workload.run_events import RUN_EVENTS
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.system.system import System

__all__ = ["Measure", "MeasureOfSystem", "Schedule", "counted", "is_measured", "of_jobs", "of_system"]


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
