"""What jobs ask for and execute on a system: requests per task (S3), work (S19), and applications."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from batchlab.core.vocabulary import JOB_TYPES
from batchlab.errors import WorkloadError, one_line, shown
from batchlab.workload.application_columns import APPLICATION, arguments_of, rank_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from batchlab._kernel import ApplicationJobColumns
    from batchlab.system import System
    from batchlab.workload.workload import Workload

    Whole = npt.NDArray[np.int64]

_PROCESSOR = "core"
# Only jobs of accounting logs have this column.
_OF_A_LOG = "logged_id"
_LARGEST = 2**53


def on_system(workload: Workload, system: System) -> Workload:
    """Return the workload with requests for all resources of a system that have a column.

    Parameters
    ----------
    workload
        The jobs. A column with the name of a resource of the system is the request per task, even if the
        ``resources`` of the workload do not include it. Missing values count as 0; fractions are rounded up.
    system
        The machine.

    Returns
    -------
    Workload
        The argument itself if nothing is added.

    Raises
    ------
    WorkloadError
        If such a column does not hold numbers >= 0.
    """
    columns = workload.jobs.columns
    found = [name for name in system.resources if name in columns and name not in workload.resources]
    if found:
        whole = [_whole_amounts(workload, name) for name in found]
        jobs = workload.jobs.with_columns(whole)
        workload = replace(workload, jobs=jobs, resources=(*workload.resources, *found))
    if system.core_multiple > 1 and dict(system.equivalence) == {_PROCESSOR: 1}:
        return in_multiples(workload, system.core_multiple)
    return workload


def _whole_amounts(workload: Workload, name: str) -> pl.Series:
    """Return a column of amounts, rounded up to whole numbers."""
    column = workload.jobs[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise WorkloadError(
            f"column {one_line(name)} is of the kind {column.dtype}; must be numbers: the system has a "
            "resource of this name. Change the column, or rename it."
        )
    amount = column.cast(pl.Float64).fill_nan(None).fill_null(0.0)
    wrong = ~amount.is_between(0, _LARGEST)
    if wrong.any():
        row = wrong.arg_max() or 0
        raise WorkloadError(
            f"job {workload.jobs['job_id'][row]}: {one_line(name)} = {shown(column[row])}; must be from 0 to "
            "2^53: the system has a resource of this name. Change the column, or rename it."
        )
    whole = column.fill_null(0) if column.dtype.is_integer() else amount.ceil()
    return whole.cast(pl.Int64)


def counts_processors(workload: Workload) -> bool:
    """Return whether the column ``core`` counts processors, as in accounting logs."""
    return _PROCESSOR in workload.resources and _OF_A_LOG in workload.jobs.columns


def amounts(workload: Workload, system: System) -> list[int | npt.NDArray[np.int64]]:
    """Return the request per task for each resource: one number for all jobs, or one per job.

    A workload without the resource ``core`` requests processors, which the equivalence of the system
    translates. This also applies to jobs of accounting logs, where ``core`` counts processors per task.

    Parameters
    ----------
    workload, system
        The jobs, as from `on_system`, and the machine.

    Returns
    -------
    list
        One entry per resource of the system.
    """
    jobs, asked = workload.jobs, set(workload.resources)
    processors: int | npt.NDArray[np.int64] = 1
    equivalence = dict(system.equivalence)
    if counts_processors(workload):
        processors = jobs[_PROCESSOR].to_numpy()
        asked.discard(_PROCESSOR)
    elif _PROCESSOR in asked:
        equivalence = {}
    return [
        jobs[name].to_numpy() if name in asked else _times(processors, equivalence.get(name, 0))
        for name in system.resources
    ]


def _times(processors: int | npt.NDArray[np.int64], amount: int) -> int | npt.NDArray[np.int64]:
    return processors if amount == 1 else processors * amount if amount else 0


_CORE, _MOST = "core", "tasks_per_node"


def in_multiples(workload: Workload, multiple: int) -> Workload:
    """Round the requests of tasks up to multiples of cores.

    Parameters
    ----------
    workload
        The jobs. A task that is alone on its node requests the next multiple. If a job has several tasks on a
        node, the smallest number of tasks with a multiple of cores becomes one task with their total request.
        Workloads with applications are unchanged.
    multiple
        Number of cores that are allocated together. Without a resource ``core``, each task has one core.

    Returns
    -------
    Workload
        The argument itself if all tasks request multiples.
    """
    jobs = workload.jobs
    given = jobs[_CORE].to_numpy() if _CORE in workload.resources else np.ones(len(jobs), np.int64)
    if workload.applications or not (given % multiple).any():
        return workload
    tasks = jobs["tasks"].to_numpy()
    most = jobs[_MOST].to_numpy() if _MOST in jobs.columns else np.zeros(len(jobs), np.int64)
    together = _together(given, tasks, most, multiple)
    made = -(-tasks // together)
    cores = -(-(given * together) // multiple) * multiple
    # The request of a job must not depend on other jobs.
    changed = given % multiple != 0

    def share(name: str) -> Whole:
        asked = jobs[name].to_numpy()
        return np.where(changed, _share(asked * tasks, made, name, cores), asked)

    columns = [
        pl.Series("tasks", made),
        pl.Series(_CORE, cores),
        *(pl.Series(name, share(name)) for name in workload.resources if name != _CORE),
        *([pl.Series(_MOST, -(-most // together))] if _MOST in jobs.columns else []),
    ]
    resources = workload.resources if _CORE in workload.resources else (*workload.resources, _CORE)
    return replace(workload, jobs=jobs.with_columns(columns), resources=resources)


def _share(total: Whole, tasks: Whole, name: str, cores: Whole) -> Whole:
    """Return the share of each task; for memory, which Slurm counts per CPU, a multiple of its cores."""
    by = np.maximum(cores, 1) if name == "mem" else np.ones_like(cores)
    found: Whole = -(-total // (tasks * by)) * by
    return found


def _together(cores: Whole, tasks: Whole, most: Whole, multiple: int) -> Whole:
    """Return how many tasks of each job become one task."""
    least = multiple // np.gcd(cores, multiple)
    on_a_node = np.minimum(tasks, np.where(most > 0, most, tasks))
    found: Whole = np.minimum(least, on_a_node)
    return found


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
