"""Delays of the multiserver-job queue under first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from batchlab import _kernel
from batchlab.errors import QueueingError
from batchlab.queueing.checks import numbers, whole, whole_numbers

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.queueing.checks import Floats, Integers

    Columns = dict[str, Floats | Integers]

__all__ = ["delays"]


def delays(
    arrival: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike, c: SupportsIndex
) -> Floats:
    """Compute the waits of jobs served first come, first served, each on several servers at once.

    The jobs wait in one queue with head-of-line blocking: no job starts before the one ahead of it.

    Parameters
    ----------
    arrival
        Shape (jobs,): the arrival of each job, seconds, ascending.
    service
        Shape (jobs,): the service time of each job, seconds, >= 0.
    servers
        Shape (jobs,): the number of servers that each job needs at once, from 1 to c; or one number for all.
    c
        The number of servers.

    Returns
    -------
    numpy.ndarray
        Shape (jobs,): start minus arrival, seconds. Exact if arrivals and service times are integers.

    Raises
    ------
    QueueingError
        If the columns differ in length, or a job has an invalid value.

    Notes
    -----
    Let F1 ≤ … ≤ Fc be the times at which the servers become free. A job starts at max(arrival, FN), and its
    end replaces F1, …, FN: the recursion of J. Kiefer and J. Wolfowitz, "On the theory of queues with many
    servers", Trans. Amer. Math. Soc. 78, 1955, for simultaneous service (A. Rumyantsev, "Simulating
    Supercomputer Workload with hpcwld package for R", PDCAT 2014). O(log c) per job, amortised, and O(c)
    memory in addition to the columns; the GIL is released.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.queueing.delays([0, 1, 2], [4, 3, 2], [2, 3, 1], c=4).tolist()
    [0.0, 3.0, 2.0]
    """
    count = whole("c", c)
    arrivals, services = numbers("arrival", arrival), numbers("service", service)
    needed = _servers(servers, len(arrivals))
    if not len(arrivals) == len(services) == len(needed):
        raise QueueingError(
            f"arrival has {len(arrivals)} rows, service {len(services)}, servers {len(needed)}; "
            "each must have one row for each job."
        )
    try:
        return _kernel.delays(arrivals, services, needed, count)
    except ValueError as error:
        row, rule = error.args
        columns: Columns = {"arrival": arrivals, "service": services, "servers": needed}
        raise QueueingError(_broken(row, rule, columns, count)) from None


def _servers(servers: npt.ArrayLike, jobs: int) -> Integers:
    if np.ndim(servers) == 0:
        return np.full(jobs, whole("servers", servers), dtype=np.int64)  # type: ignore[arg-type]  # a number
    return whole_numbers("servers", servers)


def _broken(row: int, rule: str, columns: Columns, c: int) -> str:
    """Format the error of an invalid value."""
    name = {"order": "arrival", "late": "service"}.get(rule, rule)
    value = columns[name][row]
    before = columns["arrival"][row - 1]
    rules = {
        "arrival": "must be a finite number. Drop such jobs",
        "order": f"must not be below arrival[{row - 1}] = {before}. Sort the jobs by arrival",
        "service": "must be a finite number >= 0. Drop such jobs",
        "servers": f"must be from 1 to c = {c}. Drop such jobs, or give more servers",
        "late": "is too long: the end is no finite number. Give times in a greater unit",
    }
    return f"{name}[{row}] = {value}; {rules[rule]}."
