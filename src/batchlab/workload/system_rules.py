"""The limits, preemption and reservations of a system, job by job, for the kernel (S13, S16, S14)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.attributes import attribute, check_known
from batchlab.workload.columns import EXEMPT_FROM_LIMITS, time_limits
from batchlab.workload.routing import Admission, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from batchlab._kernel import Caps, LimitColumns, PreemptionColumns, ReservationColumns
    from batchlab.system import Limit, Reservation, System
    from batchlab.workload.columns import Attribute
    from batchlab.workload.routing import Routes
    from batchlab.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]
    Codes = npt.NDArray[np.int64]
    Classes = tuple[npt.NDArray[np.uint32], list[list[int]], list[float]]

_NO_LIMIT = 2**63 - 1
_MOST_JOBS = 2**32 - 1


def limit_columns(workload: Workload, system: System, routes: Routes | None) -> LimitColumns | None:
    """Build the counters of a system's limits, and the list of counters of each job, for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its limits.
    routes
        The queues and partitions of the jobs.

    Returns
    -------
    dict or None
        None without limits. O(jobs × limits × partitions counted separately).

    Raises
    ------
    WorkloadError
        If the column ``exempt_from_limits`` does not hold booleans.
    """
    if not system.limits:
        return None
    admission = Admission(workload, system)
    codes_of = cache(partial(_codes, workload, routes))
    caps: list[Caps] = []
    lists: list[tuple[int, ...]] = [()]
    list_of: Codes = np.zeros(len(workload.jobs), np.int64)
    counted = ~exempt(workload.jobs)
    for number, limit in enumerate(system.limits):
        applies = counted & admission.admits(limit.applies_to)
        applies &= _in_queues(limit, system, routes, len(list_of))
        group = _groups(limit, codes_of, len(list_of))
        before = len(caps)
        for of_partition in _partitions(limit, system, routes):
            mask = applies & of_partition
            if not mask.any():
                continue
            distinct, places = numbered(group[mask])
            counter = np.zeros(len(list_of), np.int64)
            counter[mask] = places + 1
            first = len(caps)
            caps += [_caps(number, limit, system)] * len(distinct)
            keys, list_of = numbered(list_of * (len(distinct) + 1) + counter)
            pairs = [divmod(key, len(distinct) + 1) for key in keys.tolist()]
            lists = [lists[old] + ((first + new - 1,) if new else ()) for old, new in pairs]
        if len(caps) == before:
            # External events change limits through their counters, so a limit without jobs needs one too.
            caps.append(_caps(number, limit, system))
    nodes = np.minimum(admission.nodes, _MOST_JOBS)
    return {
        "caps": caps,
        "lists": [list(counters) for counters in lists],
        "list_of": list_of.astype(np.uint32),
        "least_nodes": nodes.astype(np.uint32),
    }


def exempt(jobs: pl.DataFrame) -> Mask:
    """Return which jobs are exempt from limits.

    Raises
    ------
    WorkloadError
        If the column does not hold booleans.
    """
    if EXEMPT_FROM_LIMITS not in jobs.columns:
        return np.zeros(len(jobs), np.bool_)
    column = jobs[EXEMPT_FROM_LIMITS]
    if column.dtype not in (pl.Boolean, pl.Null):
        rule = "must be true or false, or null for jobs that limits count"
        raise WorkloadError(f"column {EXEMPT_FROM_LIMITS!r} is of the kind {column.dtype}; {rule}.")
    return np.asarray(column.cast(pl.Boolean).fill_null(value=False).to_numpy(), np.bool_)


def _in_queues(limit: Limit, system: System, routes: Routes | None, jobs: int) -> Mask:
    """Return a mask of the jobs in the queues of a limit."""
    if not limit.queues or routes is None:
        return np.ones(jobs, np.bool_)
    places = [place for place, queue in enumerate(system.queues) if queue.name in limit.queues]
    return np.isin(routes.queue, places)


def _partitions(limit: Limit, system: System, routes: Routes | None) -> Sequence[Mask | bool]:
    """Return a mask of jobs for each partition that a limit counts separately, or one for all its jobs."""
    if routes is None or not system.partitions:
        return [True]
    named = limit.partitions or tuple(partition.name for partition in system.partitions)
    places = [place for place, partition in enumerate(system.partitions) if partition.name in named]
    if "partition" in limit.per:
        return [_may_run_in(routes, [place]) for place in places]
    return [_may_run_in(routes, places)] if limit.partitions else [True]


def _may_run_in(routes: Routes, places: Sequence[int]) -> Mask:
    lists = [any(place in own for place in places) for own in routes.partitions]
    return np.array(lists, np.bool_)[routes.list_of]


def _groups(limit: Limit, codes_of: Callable[[Attribute], Codes], jobs: int) -> Codes:
    """Return the group of each job in which a limit counts it; jobs without a value form one group."""
    codes: Codes = np.zeros(jobs, np.int64)
    for column in limit.per:
        if column != "partition":
            values = codes_of(column)
            _, codes = numbered(codes * (values.max(initial=0) + 1) + values)
    return codes


def _codes(workload: Workload, routes: Routes | None, column: Attribute) -> Codes:
    """Return the code of each job's value in a column; jobs without a value have the first code."""
    if column == "queue":
        count = len(workload.jobs)
        values = np.zeros(count, np.int64) if routes is None else routes.queue.astype(np.int64) + 1
    else:
        named = attribute(workload, column).cast(pl.Categorical).to_physical().cast(pl.Int64)
        values = named.fill_null(-1).to_numpy() + 1
    return numbered(values)[1]


def _caps(number: int, limit: Limit, system: System) -> Caps:
    """Return the caps of one counter of a limit."""
    amounts = [limit.resources.get(resource, _NO_LIMIT) for resource in system.resources]
    return {
        "limit": number,
        "running": _MOST_JOBS if limit.running_jobs is None else min(limit.running_jobs, _MOST_JOBS),
        "submitted": _MOST_JOBS if limit.submitted_jobs is None else min(limit.submitted_jobs, _MOST_JOBS),
        "amounts": [*amounts, _NO_LIMIT if limit.nodes is None else limit.nodes],
        "time": math.inf if limit.time is None else limit.time,
        "running_minutes": _minutes(limit.running_minutes, system),
        "total_minutes": _minutes(limit.total_minutes, system),
        "blocks": limit.blocks,
    }


def _minutes(given: Mapping[str, int], system: System) -> list[int]:
    """Return the cap of each resource; an empty list without any cap."""
    return [given.get(resource, _NO_LIMIT) for resource in system.resources] if given else []


def preemption_columns(workload: Workload, system: System, routes: Routes | None) -> PreemptionColumns | None:
    """Return the class of each job, and which classes may preempt which, for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its preemption.
    routes
        The queues and partitions of the jobs.

    Returns
    -------
    dict or None
        None if no job may preempt another. O(jobs).
    """
    rules = system.preemption
    if rules is None:
        return None
    classes = _tiers(system, routes) if rules.by == "tier" else _qualities(workload, system)
    if classes is None:
        return None
    class_of, preempts, importance = classes
    return {
        "class_of": class_of,
        "preempts": preempts,
        "importance": importance,
        "mode": rules.mode,
        "exempt_time": rules.exempt_time,
        "grace_time": rules.grace_time,
        "youngest_first": rules.youngest_first,
    }


def _tiers(system: System, routes: Routes | None) -> Classes | None:
    """Return classes by tier: each class may preempt lower tiers."""
    if routes is None or not system.partitions:
        return None
    tiers = [partition.tier for partition in system.partitions]
    known = sorted(set(tiers))
    # A job without a partition is rejected, so its class is irrelevant.
    class_of = np.searchsorted(known, routes.greatest(tiers, usual=known[0])).astype(np.uint32)
    return class_of, [[*range(above)] for above in range(len(known))], [float(tier) for tier in known]


def _qualities(workload: Workload, system: System) -> Classes | None:
    """Return classes by quality of service; jobs without a known one share an additional class."""
    places = {quality.name: place for place, quality in enumerate(system.qos)}
    named = attribute(workload, "qos")
    others = len(places)
    class_of = np.array([places.get(name, others) for name in named.to_list()], np.uint32)
    preempts = [[places[name] for name in quality.preempts] for quality in system.qos]
    return class_of, [*preempts, []], [*(quality.priority for quality in system.qos), 0.0]


@dataclass(frozen=True)
class Reserved:
    """The reservations of a system, and the reservation of each job.

    Parameters
    ----------
    nodes
        The nodes of each reservation, as ranges.
    spans
        The begin and end of each occurrence of each reservation, in order, seconds.
    flexible
        Whether the jobs of each reservation may also use other nodes.
    cancels
        Whether each reservation cancels running jobs on its nodes when it begins.
    of_job
        The index of each job's reservation, from 1; 0 for none. int64, shape (jobs,).
    refused
        Whether a job cannot use its reservation, shape (jobs,).
    """

    nodes: list[list[tuple[int, int]]]
    spans: list[list[tuple[float, float]]]
    flexible: list[bool]
    cancels: list[bool]
    of_job: npt.NDArray[np.int64]
    refused: npt.NDArray[np.bool_]

    @property
    def columns(self) -> ReservationColumns:
        """The reservations in the kernel's format."""
        return {
            "nodes": self.nodes,
            "spans": self.spans,
            "cancels": self.cancels,
            "of_job": self.of_job.astype(np.uint32),
        }


def reserved(workload: Workload, system: System) -> Reserved | None:
    """Determine the reservation of each job.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its reservations.

    Returns
    -------
    Reserved or None
        None if the system has no reservations. O(jobs × reservations).

    Raises
    ------
    WorkloadError
        If a job names an unknown reservation.
    """
    if not system.reservations:
        return None
    named = attribute(workload, "reservation")
    known = [each.name for each in system.reservations]
    check_known(workload, named, known, "a reservation")
    admission = Admission(workload, system)
    of_job = np.zeros(len(named), np.int64)
    refused = np.zeros(len(named), np.bool_)
    for place, each in enumerate(system.reservations):
        wanted = (named == each.name).fill_null(value=False).to_numpy()
        if not wanted.any():
            continue
        of_job[wanted] = place + 1
        if each.admits is None:
            refused |= wanted
        else:
            refused |= wanted & ~(admission.admits(each.admits) & _in_time(workload, each))
    return Reserved(
        nodes=[system.reservation_ranges(each) for each in system.reservations],
        spans=[each.occurrences for each in system.reservations],
        flexible=[each.flexible for each in system.reservations],
        cancels=[each.cancels for each in system.reservations],
        of_job=of_job,
        refused=refused,
    )


def _in_time(workload: Workload, reservation: Reservation) -> npt.NDArray[np.bool_]:
    """Return a mask of the jobs that can end within the last occurrence, if they start immediately."""
    last_begin, last_end = reservation.occurrences[-1]
    start = np.maximum(workload.jobs["submit_time"].to_numpy(), last_begin)
    end = start + time_limits(workload.jobs)
    return np.asarray((end <= last_end) & (start < last_end), np.bool_)
