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
    """Say how long jobs wait that are served first come, first served, each on several servers at once.

    The jobs wait in one queue whose head blocks: no job starts before the one ahead of it.

    Parameters
    ----------
    arrival
        Shape (jobs,): when each job arrives, seconds, ascending.
    service
        Shape (jobs,): for how long each is served, seconds, >= 0.
    servers
        Shape (jobs,): how many servers each needs at once, from 1 to c; or one number for all jobs.
    c
        How many servers there are.

    Returns
    -------
    numpy.ndarray
        Shape (jobs,): start minus arrival, seconds. Exact where arrivals and service times are whole
        numbers.

    Raises
    ------
    QueueingError
        If the columns differ in length, or a job breaks a rule above.

    Notes
    -----
    With F1 ≤ … ≤ Fc the times at which the servers are free, a job starts at max(arrival, FN), and its end
    takes the place of F1, …, FN: the recursion of J. Kiefer and J. Wolfowitz, "On the theory of queues with
    many servers", Trans. Amer. Math. Soc. 78, 1955, for simultaneous service (A. Rumyantsev, "Simulating
    Supercomputer Workload with hpcwld package for R", PDCAT 2014). O(log c) per job, amortised, and O(c)
    memory besides the columns; the GIL is released.

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
    """Say which value of a job breaks which rule."""
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
