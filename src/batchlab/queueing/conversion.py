"""Check columns and rates of a queueing model, and convert columns to workloads and back."""

from __future__ import annotations

from typing import NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import QueueingError, shown, suggest
from batchlab.workload import Workload

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LARGEST = 2**63 - 1


def positive(name: str, value: float, *, zero: bool = False) -> float:
    """Give a finite number above 0; with `zero` at least 0."""
    return float(rules.check(QueueingError, name, value, rules.NOT_NEGATIVE if zero else rules.POSITIVE))


def probability(name: str, value: float) -> float:
    """Give a number from 0 to 1."""
    return float(rules.check(QueueingError, name, value, rules.PROBABILITY))


def whole(name: str, value: SupportsIndex, least: int = 1) -> int:
    """Give a whole number that is at least this."""
    return rules.check(QueueingError, name, value, rules.Whole(least, _LARGEST))


def numbers(name: str, values: npt.ArrayLike) -> Floats:
    """Check and return a column of numbers; a column of float64 is not copied."""
    try:
        column = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise QueueingError(f"{name} = {shown(values)}; must be a column of numbers.") from error
    if np.ndim(values) != 1:
        raise QueueingError(f"{name} has {np.ndim(values)} dimensions; must be a column: one.")
    return column


def whole_numbers(name: str, values: npt.ArrayLike) -> Integers:
    """Check and return a column of integers; a column of int64 is not copied."""
    given = np.asarray(values)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return np.ascontiguousarray(given, dtype=np.int64)
    column = numbers(name, values)
    broken = np.flatnonzero(~(np.abs(column) < 2**53) | (column != np.floor(column)))
    if len(broken):
        row = int(broken[0])
        raise QueueingError(f"{name}[{row}] = {column[row]:g}; must be a whole number.")
    return column.astype(np.int64)


def unstable(load: str, value: float, limit: str, bound: float) -> QueueingError:
    """Return the error for a queue that grows without bound."""
    return QueueingError(
        f"{load} = {value:g} is not below {limit} = {bound:g}: the queue grows without bound and has no "
        "stationary mean. Lower the arrival rate, or serve faster."
    )


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
