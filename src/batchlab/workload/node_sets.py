"""The node sets of a run: the nodes that jobs may use, by groups, features, partitions and reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.node_columns import CONSTRAINT, NODE_GROUP, SEPARATOR, Constraint
from batchlab.workload.routing import numbered

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.routing import Reserved, Routes

__all__ = ["NodeSetColumns", "node_set_columns"]

_Ranges = list[tuple[int, int]]


class NodeSetColumns(TypedDict):
    """Node sets as ranges, lists of them by index, and the list of each job (from 1; 0 for any node).

    A list holds triples: the node set of the job, the same without its feature constraint, and the number
    of the partition. Partitions with the same nodes share one number.
    """

    node_sets: list[_Ranges]
    partition_nodes: list[_Ranges]
    node_set_lists: list[list[tuple[int, int, int]]]
    node_set_list: npt.NDArray[np.uint32] | None


def node_set_columns(
    workload: Workload, system: System, routes: Routes | None, reserved: Reserved | None
) -> NodeSetColumns:
    """Build the node sets of a workload on a system.

    Parameters
    ----------
    workload, system
        The jobs and the machine. Column ``node_group`` names groups, ``constraint`` features of groups.
    routes
        The partitions of the jobs, if the system has any.
    reserved
        The reservations of the jobs, if the system has any.

    Returns
    -------
    NodeSetColumns
        One list for each combination of groups, features, partitions and reservations. Empty if no job
        restricts its nodes.

    Raises
    ------
    WorkloadError
        If a job names a group or a feature that the system does not have.
    """
    groups, group_of = _groups(workload, system)
    has_partitions = routes is not None and bool(system.partitions)
    kept, kept_of = _kept(reserved)
    featured, featured_of = _featured(workload, system)
    if group_of is None and not has_partitions and kept_of is None and featured_of is None:
        return {"node_sets": [], "partition_nodes": [], "node_set_lists": [], "node_set_list": None}
    combination = np.zeros(len(workload.jobs), np.int64) if group_of is None else group_of
    lists: tuple[tuple[int, ...], ...] = ((),)
    if routes is not None and has_partitions:
        lists = routes.partitions
        combination = combination * len(lists) + routes.list_of
    if kept_of is not None:
        combination = combination * len(kept) + kept_of
    if featured_of is not None:
        combination = combination * len(featured) + featured_of
    keys, combination = numbered(combination)
    sets: dict[tuple[tuple[int, int], ...], int] = {}
    numbers_of = []
    nodes_of = [system.partition_ranges(each) for each in system.partitions] if has_partitions else []
    distinct: dict[tuple[tuple[int, int], ...], int] = {}
    number_of = [distinct.setdefault(tuple(nodes), len(distinct)) for nodes in nodes_of]
    for key in keys.tolist():
        rest, features = divmod(key, len(featured))
        rest, reservation = divmod(rest, len(kept))
        group, places = divmod(rest, len(lists))
        own = groups[group] if reservation == 0 else _both(groups[group], kept[reservation])
        within = [(_both(own, nodes_of[place]), number_of[place]) for place in lists[places]]
        numbers_of.append(
            [(*_numbered(each, featured[features], sets), number) for each, number in within or [(own, 0)]]
        )
    return {
        "node_sets": [list(ranges) for ranges in sets],
        "partition_nodes": [list(ranges) for ranges in distinct],
        "node_set_lists": numbers_of,
        "node_set_list": (combination + 1).astype(np.uint32),
    }


def _numbered(
    own: _Ranges, featured: _Ranges | None, sets: dict[tuple[tuple[int, int], ...], int]
) -> tuple[int, int]:
    """Return the number of the node set with the features of a job, and of the node set without them."""
    nodes = own if featured is None else _both(own, featured)
    return sets.setdefault(tuple(nodes), len(sets)), sets.setdefault(tuple(own), len(sets))


def _featured(
    workload: Workload, system: System
) -> tuple[list[_Ranges | None], npt.NDArray[np.int64] | None]:
    """Return the nodes of each constraint, first None (no constraint), and the constraint of each job."""
    known = dict.fromkeys(name for group in system.groups for name in group.features)
    jobs = workload.jobs
    if not known or CONSTRAINT not in jobs.columns or jobs[CONSTRAINT].null_count() == len(jobs):
        return [None], None
    distinct = jobs[CONSTRAINT].drop_nulls().unique(maintain_order=True).to_list()
    numbers = {value: number for number, value in enumerate(distinct, start=1)}
    nodes = [_nodes_with(_constraint(value, jobs, known), system) for value in distinct]
    column = jobs[CONSTRAINT].replace_strict(numbers, default=0, return_dtype=pl.Int64)
    return [None, *nodes], column.to_numpy()


def _nodes_with(constraint: Constraint, system: System) -> _Ranges:
    groups = zip(system.groups, system.group_ranges.values(), strict=True)
    return [nodes for group, nodes in groups if constraint.holds(group.features)]


def _constraint(value: str, jobs: pl.DataFrame, known: Collection[str]) -> Constraint:
    def where() -> str:
        job = jobs.filter(pl.col(CONSTRAINT) == value)["job_id"][0]
        return f"job {job}: {CONSTRAINT} = {shown(value)}"

    try:
        constraint = Constraint.of(value)
    except ValueError as broken:
        raise WorkloadError(f"{where()}: {broken}.") from None
    unknown = next((name for name in constraint.names if name not in known), None)
    if unknown is not None:
        rule = f"no node group has the feature {unknown!r}"
        raise WorkloadError(f"{where()}; {rule}.{suggest(unknown, known)}")
    return constraint


def _groups(workload: Workload, system: System) -> tuple[list[_Ranges], npt.NDArray[np.int64] | None]:
    """Return the nodes of each combination of groups, first all nodes, and the combination of each job."""
    jobs, whole = workload.jobs, [(0, system.nodes)]
    if NODE_GROUP not in jobs.columns or jobs[NODE_GROUP].null_count() == len(jobs):
        return [whole], None
    distinct = jobs[NODE_GROUP].drop_nulls().unique(maintain_order=True).to_list()
    nodes = system.group_ranges
    for value in distinct:
        _check_groups(value, jobs, nodes)
    numbers = {value: number for number, value in enumerate(distinct, start=1)}
    column = jobs[NODE_GROUP].replace_strict(numbers, default=0, return_dtype=pl.Int64)
    return [
        whole,
        *([nodes[name] for name in value.split(SEPARATOR)] for value in distinct),
    ], column.to_numpy()


def _kept(reserved: Reserved | None) -> tuple[list[_Ranges], npt.NDArray[np.int64] | None]:
    """Return the nodes of each reservation that binds its jobs, and the number of each job's; 0 for none."""
    if reserved is None:
        return [[]], None
    binds = np.array([False, *(not flexible for flexible in reserved.flexible)])
    of_job = np.where(binds[reserved.of_job], reserved.of_job, 0)
    return ([[], *reserved.nodes], of_job) if of_job.any() else ([[]], None)


def _both(a: _Ranges, b: _Ranges) -> _Ranges:
    """Return the intersection, as ranges in ascending order."""
    shared = ((max(begin, first), min(end, last)) for begin, end in a for first, last in b)
    return sorted({(begin, end) for begin, end in shared if begin < end})


def _check_groups(value: str, jobs: pl.DataFrame, known: dict[str, tuple[int, int]]) -> None:
    unknown = next((name for name in value.split(SEPARATOR) if name not in known), None)
    if unknown is not None:
        job = jobs.filter(pl.col(NODE_GROUP) == value)["job_id"][0]
        rule = "must name node groups of the system"
        at = "" if unknown == value else f", but {unknown!r} is none"
        raise WorkloadError(f"job {job}: {NODE_GROUP} = {shown(value)}; {rule}{at}.{suggest(unknown, known)}")
