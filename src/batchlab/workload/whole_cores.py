"""Requests on machines that allocate cores in multiples, such as whole cores of several CPUs (S3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.workload.workload import Workload

    Whole = npt.NDArray[np.int64]

__all__ = ["in_multiples"]

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
