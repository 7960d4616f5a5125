"""The work of jobs, in units of work (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.workload.workload import Workload

__all__ = ["WORK", "work_of_jobs"]

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
