"""Other run times and other arrivals of a fork, as rows of its workload (semantics, S30)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import polars as pl

from batchlab.errors import BatchlabError, SimulationError, shown
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab.workload import Workload

    RunTimes: TypeAlias = Mapping[int, float] | npt.NDArray[np.float64]
    Rows: TypeAlias = npt.NDArray[np.uint32]
    Seconds: TypeAlias = npt.NDArray[np.float64]
    Arrivals: TypeAlias = str | pl.DataFrame | Mapping[str, object]

__all__ = ["NewArrivals", "named_refusals", "replace_run_times", "rows_of_jobs"]

_COLUMNS = ("job_id", "submit_time", "tasks", "requested_time")
_ARRIVALS = 'must be "workload", "none", or a table with the columns job_id and submit_time'


def rows_of_jobs(workload: Workload, job_ids: npt.NDArray[np.int64], argument: str) -> Rows:
    """Return the rows of jobs.

    Raises
    ------
    SimulationError
        If a job is not in the workload.
    """
    known = workload.jobs["job_id"].to_numpy()
    is_ascending = bool((known[1:] > known[:-1]).all())
    order = None if is_ascending else np.argsort(known, kind="stable")
    rows = np.minimum(np.searchsorted(known, job_ids, sorter=order), max(len(known) - 1, 0))
    if order is not None:
        rows = order[rows]
    wrong = np.flatnonzero(known[rows] != job_ids) if len(known) else np.arange(len(job_ids))
    if len(wrong):
        rule = "must be a job_id of the workload"
        raise SimulationError(f"{argument}: job {job_ids[wrong[0]]}; {rule}.")
    return rows.astype(np.uint32)


def replace_run_times(kernel: _kernel.Simulation, workload: Workload, run_times: RunTimes) -> None:
    """Replace the true run times of jobs.

    Parameters
    ----------
    kernel
        The compiled half of the fork.
    workload
        Its jobs.
    run_times
        Seconds by job_id; or float64, shape (jobs,), in which NaN leaves a job as it is.

    Raises
    ------
    SimulationError
        If a job is unknown, or cannot have its run time.
    """
    rows, seconds = _by_row(workload, run_times)
    wrong = np.flatnonzero(~np.isfinite(seconds) | (seconds < 0))
    if len(wrong):
        at, rule = wrong[0], "must be a finite number of seconds >= 0"
        raise _refused(workload, rows, "run_times", f"{seconds[at]:g} s; {rule}", at)
    with named_refusals(workload, rows, "run_times", seconds):
        kernel.replace_run_times(rows, seconds)


def _by_row(workload: Workload, run_times: RunTimes) -> tuple[Rows, npt.NDArray[np.float64]]:
    if isinstance(run_times, Mapping):
        try:
            ids = np.array([*run_times], dtype=np.int64)
            seconds = np.array([*run_times.values()], dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            rule = "must map the job_id of each job to its run time in seconds"
            raise SimulationError(f"run_times = {shown(run_times)}; {rule}.") from error
        return rows_of_jobs(workload, ids, "run_times"), seconds
    try:
        seconds = np.asarray(run_times, dtype=np.float64)
    except (TypeError, ValueError) as error:
        rule = "must be a mapping from job_id to seconds, or an array with one value per job"
        raise SimulationError(f"run_times = {shown(run_times)}; {rule}.") from error
    if seconds.shape != (len(workload),):
        rule = f"must have the shape ({len(workload)},), one value per job; NaN leaves a job as it is"
        raise SimulationError(f"run_times has the shape {seconds.shape}; {rule}.")
    rows = np.flatnonzero(~np.isnan(seconds)).astype(np.uint32)
    return rows, seconds[rows]


@dataclass(frozen=True)
class NewArrivals:
    """The submissions of a fork, in place of the submissions of its workload.

    Parameters
    ----------
    rows
        uint32, shape (n,): the jobs.
    submit_time
        float64, shape (n,): seconds.
    tasks
        uint32, shape (n,): the numbers of tasks; 0 keeps the own one.
    requested_time
        float64, shape (n,): requested times and time limits, seconds; NaN keeps the own ones.
    """

    rows: Rows
    submit_time: npt.NDArray[np.float64]
    tasks: Rows
    requested_time: npt.NDArray[np.float64]

    @classmethod
    def of(cls, workload: Workload, given: object) -> NewArrivals | None:
        """Read the table of arrivals of a fork, or None.

        Raises
        ------
        SimulationError
            If it is no table of arrivals, or names an unknown job.
        """
        if isinstance(given, str):
            if given == "none":
                return None
            raise SimulationError(f"arrivals = {shown(given)}; {_ARRIVALS}.")
        table = _table(given)
        unknown = [name for name in table.columns if name not in _COLUMNS]
        missing = [name for name in _COLUMNS[:2] if name not in table.columns]
        if unknown or missing:
            what = f"has no column {missing[0]!r}" if missing else f"has a column {unknown[0]!r}"
            raise SimulationError(f"arrivals: the table {what}; its columns are {', '.join(_COLUMNS)}.")
        values = {name: _numbers(table, name) for name in _COLUMNS}
        rows = rows_of_jobs(workload, values["job_id"].astype(np.int64), "arrivals")
        tasks = np.nan_to_num(values["tasks"]).astype(np.uint32)
        return cls(rows, values["submit_time"], tasks, values["requested_time"])

    def apply(self, kernel: _kernel.Simulation, workload: Workload) -> None:
        """Submit these jobs and no others from now on.

        Raises
        ------
        SimulationError
            If a job cannot be submitted again.
        """
        columns = self.rows, self.submit_time, self.tasks, self.requested_time
        with named_refusals(workload, self.rows, "arrivals"):
            kernel.replace_arrivals(columns)

    def shown_in(self, workload: Workload) -> pl.DataFrame:
        """Return the jobs of the workload with the values of these arrivals."""
        jobs = workload.jobs.clone()
        rows = self.rows.astype(np.int64)
        has_limit = "time_limit" in jobs.columns
        replaced: dict[str, Seconds | Rows] = {
            "submit_time": self.submit_time,
            "tasks": self.tasks,
            "requested_time": self.requested_time,
        }
        if has_limit:
            replaced["time_limit"] = self.requested_time
        for name, given in replaced.items():
            values = given.astype(np.float64)
            # No job has 0 tasks.
            keeps = np.isnan(values) | ((name == "tasks") & (values == 0))
            if keeps.all():
                continue
            column = jobs[name]
            whole = column.to_numpy().copy()
            whole[rows[~keeps]] = values[~keeps]
            jobs.replace_column(jobs.get_column_index(name), pl.Series(name, whole, dtype=column.dtype))
        return jobs


def _table(given: object) -> pl.DataFrame:
    if is_frame(given):
        return as_polars(given)
    if not isinstance(given, Mapping):
        raise SimulationError(f"arrivals = {shown(given)}; {_ARRIVALS}.")
    try:
        return pl.DataFrame(cast("Mapping[str, list[float]]", given))
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise SimulationError(f"arrivals = {shown(given)}; {_ARRIVALS}.") from error


def _numbers(table: pl.DataFrame, name: str) -> npt.NDArray[np.float64]:
    """Return a column as numbers; NaN if an optional value is missing."""
    if name not in table.columns:
        return np.full(table.height, np.nan)
    try:
        values = table[name].cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise SimulationError(f"arrivals: the column {name!r} has a value that is no number.") from error
    is_optional = name not in _COLUMNS[:2]
    rules = {
        "job_id": np.isfinite(values) & (values == np.floor(values)),
        "submit_time": np.isfinite(values),
        "tasks": np.isnan(values) | ((values >= 1) & (values == np.floor(values)) & (values < 2**32)),
        "requested_time": np.isnan(values) | (np.isfinite(values) & (values >= 0)),
    }
    wrong = np.flatnonzero(~rules[name])
    if len(wrong):
        texts = {
            "job_id": "a whole number",
            "submit_time": "a finite number of seconds",
            "tasks": "a whole number >= 1",
            "requested_time": "a finite number of seconds >= 0",
        }
        rule = f"must be {texts[name]}{', or missing' if is_optional else ''}"
        raise SimulationError(f"arrivals: {name} = {values[wrong[0]]:g} in row {wrong[0]}; {rule}.")
    return np.ascontiguousarray(values)


@contextmanager
def named_refusals(
    workload: Workload,
    rows: Rows,
    argument: str,
    seconds: npt.NDArray[np.float64] | None = None,
) -> Iterator[None]:
    """Name the job in the errors of the kernel, which has its position among `rows`.

    Raises
    ------
    SimulationError
        If the kernel refuses the value of a job.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, BatchlabError):
            raise
        at, reason = error.args
        value = "" if seconds is None else f"{seconds[at]:g} s; "
        raise _refused(workload, rows, argument, value + reason, at) from error


def _refused(workload: Workload, rows: Rows, argument: str, reason: str, at: int) -> SimulationError:
    job = workload.jobs["job_id"][int(rows[at])]
    return SimulationError(f"{argument}: job {job}: {reason}.")
