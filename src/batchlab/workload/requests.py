"""What the tasks of jobs ask of the resources of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from batchlab.system import System
    from batchlab.workload.workload import Workload

__all__ = ["amounts", "least_nodes"]


def amounts(workload: Workload, system: System) -> list[int | npt.NDArray[np.int64]]:
    """Give what each task asks of each resource: one number for all jobs, or one per job.

    A workload that says nothing of cores asks for processors, which the system's equivalence translates.

    Parameters
    ----------
    workload, system
        The jobs, and the machine.

    Returns
    -------
    list
        One entry for each of the system's resources.
    """
    processor = {} if "core" in workload.resources else dict(system.equivalence)
    return [
        workload.jobs[name].to_numpy() if name in workload.resources else processor.get(name, 0)
        for name in system.resources
    ]


def least_nodes(
    workload: Workload, system: System, asked: Sequence[int | npt.NDArray[np.int64]]
) -> npt.NDArray[np.float64]:
    """Give the least number of nodes that each job can run on.

    Parameters
    ----------
    workload, system
        The jobs, and the machine.
    asked
        As `amounts` gives it.

    Returns
    -------
    numpy.ndarray
        float64, shape (jobs,); infinite where a job can run on none.
    """
    import numpy as np  # noqa: PLC0415  # a streamed run does without

    jobs = workload.jobs
    tasks = jobs["tasks"].to_numpy()
    most = np.zeros(len(jobs), np.int64)
    for group in system.groups:
        slots = tasks.copy()
        for resource, each in zip(system.resources, asked, strict=True):
            has = group.resources.get(resource, 0)
            asks = np.broadcast_to(each, len(jobs))
            slots = np.where(asks > 0, np.minimum(slots, has // np.maximum(asks, 1)), slots)
        most = np.maximum(most, slots)
    if "tasks_per_node" in jobs.columns:
        limit = jobs["tasks_per_node"].to_numpy()
        most = np.where(limit > 0, np.minimum(most, limit), most)
    return np.where(most > 0, np.ceil(tasks / np.maximum(most, 1)), np.inf)
