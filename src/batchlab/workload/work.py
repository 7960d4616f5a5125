"""What jobs execute: their work (S19), their run times, and the kernel input of jobs with applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from batchlab.core.vocabulary import JOB_TYPES
from batchlab.errors import WorkloadError
from batchlab.workload.application_columns import APPLICATION, arguments_of, rank_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from batchlab._kernel import ApplicationJobColumns
    from batchlab.workload.workload import Workload


WORK = "work"
"""The column with the work of jobs."""


def work_of_jobs(workload: Workload, reference_rate: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the work of each job.

    Parameters
    ----------
    workload
        With a column ``work``; if it is missing or null, work is run_time times the reference rate.
    reference_rate
        Units of work per second at which the run times were measured.

    Returns
    -------
    float64, shape (jobs,)
        Units of work; 0 for a job that runs an application.

    Raises
    ------
    WorkloadError
        If the work of a job is not a finite number >= 0.
    """
    jobs = workload.jobs
    run_time: npt.NDArray[np.float64] = jobs["run_time"].to_numpy()
    if jobs["run_time"].null_count():
        # A job with an application runs until the application ends.
        run_time = np.where(np.isnan(run_time), 0.0, run_time)
    usual = run_time if reference_rate == 1 else run_time * reference_rate
    if WORK not in jobs.columns:
        return usual
    if not jobs[WORK].dtype.is_numeric():
        raise WorkloadError(f"column {WORK!r} is of the kind {jobs[WORK].dtype}; must be numbers.")
    work = jobs[WORK].cast(pl.Float64)
    wrong = ~(work.is_finite() & (work >= 0)).fill_null(value=True)
    if wrong.any():
        row = wrong.arg_max() or 0
        rule = "must be a finite number >= 0. Mend the column, or leave it out"
        raise WorkloadError(f"job {jobs['job_id'][row]}: {WORK} = {work[row]}; {rule}.")
    return work.fill_null(pl.Series(usual)).to_numpy()


def run_times(workload: Workload, what: str) -> npt.NDArray[np.float64]:
    """Return the run times of a workload in which every job has one.

    Parameters
    ----------
    workload
        The jobs.
    what
        The feature that needs run times, for the error message.

    Returns
    -------
    numpy.ndarray
        Seconds, float64, one per job.

    Raises
    ------
    WorkloadError
        If the run time of a job follows from an application.
    """
    times = workload.jobs["run_time"]
    missing = times.null_count()
    if missing:
        raise WorkloadError(
            f"{what}: {missing} jobs have no run time, since it follows from their applications. Simulate "
            "them, and take the jobs of the result."
        )
    return times.to_numpy()


def application_jobs(workload: Workload) -> ApplicationJobColumns | None:
    """Convert the columns of applications and arguments for the kernel.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict or None
        NumPy columns, one entry per job, with the applications and argument sets that they index; None if no
        job can run an application.
    """
    jobs = workload.jobs
    if not workload.applications or APPLICATION not in jobs.columns:
        return None
    texts = jobs["arguments"].to_list() if "arguments" in jobs.columns else [None] * jobs.height
    distinct = list(dict.fromkeys(texts))
    orders_of, orders = rank_orders(jobs)
    return {
        "job_type": _places(jobs["job_type"], JOB_TYPES).astype(np.uint8),
        "tasks_min": jobs["tasks_min"].to_numpy(),
        "tasks_max": jobs["tasks_max"].to_numpy(),
        "application": _places(jobs[APPLICATION], [*workload.applications]),
        "applications": [application.kernel for application in workload.applications.values()],
        "arguments": _places(texts, distinct),
        "argument_sets": [arguments_of(text, "workload") for text in distinct],
        "rank_order": orders_of,
        "rank_orders": orders,
    }


def _places(column: Iterable[str | None], values: Sequence[str | None]) -> npt.NDArray[np.int64]:
    """Return the index of each entry in `values`; -1 if it is missing there."""
    places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
    return np.array([places.get(value, -1) for value in column], np.int64)
