"""Convert columns of a queueing model to workloads, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab.core.arguments import checked
from batchlab.errors import QueueingError, suggest
from batchlab.queueing.checks import numbers, whole_numbers
from batchlab.workload import Workload

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.queueing.checks import Floats, Integers


class Columns(NamedTuple):
    """The jobs of a multiserver-job queue as columns, sorted by arrival.

    Parameters
    ----------
    arrival
        Shape (jobs,): seconds, ascending.
    service
        Shape (jobs,): service times, seconds.
    servers
        Shape (jobs,): the number of servers that each job needs simultaneously.
    """

    arrival: Floats
    service: Floats
    servers: Integers


def to_workload(arrival: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike) -> Workload:
    """Build a workload from the columns of a multiserver-job queue.

    Parameters
    ----------
    arrival, service
        Shape (jobs,): arrival and service time of each job, seconds.
    servers
        Shape (jobs,): the number of servers that each job needs simultaneously, which is the number of its
        tasks with one core each; or one number for all jobs.

    Returns
    -------
    Workload
        A job for each row, numbered from 1. On ``System.homogeneous(nodes=c, resources={"core": 1})``, waits
        under the policy ``fcfs`` equal the result of `delays`.

    Raises
    ------
    QueueingError
        If the columns differ in length.
    WorkloadError
        If a job is invalid in a workload.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.queueing.to_workload([0, 1, 2], [4, 3, 2], [2, 3, 1])
    >>> system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    >>> jobs = bl.simulate(workload, system, "fcfs").jobs
    >>> (jobs["start_time"] - jobs["submit_time"]).to_list()
    [0.0, 3.0, 2.0]
    """
    times, services = numbers("arrival", arrival), numbers("service", service)
    needed = whole_numbers("servers", np.full(len(times), servers) if np.ndim(servers) == 0 else servers)
    if not len(times) == len(services) == len(needed):
        raise QueueingError(
            f"arrival has {len(times)} rows, service {len(services)}, servers {len(needed)}; "
            "each must have one row for each job."
        )
    jobs = {"submit_time": times, "run_time": services, "tasks": needed, "core": np.ones_like(needed)}
    return Workload.from_table(jobs, invalid="raise")


@checked(QueueingError)
def from_workload(workload: Workload, resource: str = "core") -> Columns:
    """Extract the columns of a multiserver-job queue from a workload.

    Parameters
    ----------
    workload
        Jobs with run times.
    resource
        The resource that counts as a server: a resource of the workload; or ``"task"`` for one server per
        task.

    Returns
    -------
    Columns
        arrival, service and servers: the number of tasks times the request of each task.

    Raises
    ------
    QueueingError
        If the workload does not have the resource, or a job has an application instead of a run time.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.Workload.from_table({"submit_time": [0], "run_time": [60], "tasks": [2], "core": [8]})
    >>> bl.queueing.from_workload(workload).servers.tolist()
    [16]
    """
    jobs = workload.jobs
    if resource != "task" and resource not in jobs.columns:
        known = [*workload.resources, "task"]
        raise QueueingError(f"resource: the workload has no {resource!r}.{suggest(resource, known)}")
    if jobs["run_time"].null_count():
        raise QueueingError("workload: a job has an application, and no run time. Leave such jobs out.")
    servers = jobs["tasks"] if resource == "task" else jobs["tasks"] * jobs[resource]
    return Columns(
        numbers("submit_time", jobs["submit_time"].to_numpy()),
        numbers("run_time", jobs["run_time"].to_numpy()),
        whole_numbers("servers", servers.to_numpy()),
    )
