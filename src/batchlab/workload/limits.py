"""Counters of limits, and the counters that each job belongs to (semantics, S13)."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.workload.admission import Admission
from batchlab.workload.attributes import attribute
from batchlab.workload.routing import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from batchlab._kernel import Caps, LimitColumns
    from batchlab.system import Limit, System
    from batchlab.workload.attribute_columns import Attribute
    from batchlab.workload.routing import Routes
    from batchlab.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]
    Codes = npt.NDArray[np.int64]

__all__ = ["limit_columns"]

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
    """
    if not system.limits:
        return None
    admission = Admission(workload, system)
    codes_of = cache(partial(_codes, workload, routes))
    caps: list[Caps] = []
    lists: list[tuple[int, ...]] = [()]
    list_of: Codes = np.zeros(len(workload.jobs), np.int64)
    for number, limit in enumerate(system.limits):
        applies = admission.admits(limit.applies_to) & _in_queues(limit, system, routes, len(list_of))
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
