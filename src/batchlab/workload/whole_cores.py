"""Requests on machines that give cores in multiples, as Slurm gives whole cores of several CPUs (S3)."""

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
    """Return the workload whose tasks ask for multiples of cores.

    Parameters
    ----------
    workload
        The jobs. A task that is alone on its node asks for the next multiple. Of jobs with several tasks on
        a node, the least number of tasks whose cores are a multiple becomes one task with what they ask for.
        Jobs with applications stay as they are.
    multiple
        So many cores go together. A task of a workload that says nothing of cores is one core.

    Returns
    -------
    Workload
        The given one if all tasks ask for multiples.
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
    # What a job asks for does not depend on the other jobs.
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
    """Give the share of each task; of memory, which Slurm counts by CPU, the same for each core."""
    by = np.maximum(cores, 1) if name == "mem" else np.ones_like(cores)
    found: Whole = -(-total // (tasks * by)) * by
    return found


def _together(cores: Whole, tasks: Whole, most: Whole, multiple: int) -> Whole:
    """Give how many tasks of each job become one."""
    least = multiple // np.gcd(cores, multiple)
    on_a_node = np.minimum(tasks, np.where(most > 0, most, tasks))
    found: Whole = np.minimum(least, on_a_node)
    return found
