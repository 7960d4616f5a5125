"""Kernel input for jobs that run applications, and run times for workloads without applications."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from batchlab.core.vocabulary import JOB_TYPES
from batchlab.errors import WorkloadError
from batchlab.workload.application_columns import APPLICATION, arguments_of
from batchlab.workload.rank_orders import rank_orders

if TYPE_CHECKING:
    from batchlab._kernel import ApplicationJobColumns
    from batchlab.workload.workload import Workload

__all__ = ["application_jobs", "run_times"]


def run_times(workload: "Workload", what: str) -> npt.NDArray[np.float64]:
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


def application_jobs(workload: "Workload") -> "ApplicationJobColumns | None":
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
