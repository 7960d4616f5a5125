"""Requests of jobs per task, for the resources of a system, and in multiples of cores (S3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError, one_line, shown

if TYPE_CHECKING:
    import numpy.typing as npt

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
