"""The node sets of a run: which nodes the groups that jobs name are."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypedDict

import polars as pl

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.node_groups import NODE_GROUP, SEPARATOR

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["NodeSetColumns", "node_set_columns"]


class NodeSetColumns(TypedDict):
    """The node sets that jobs name, each as ranges of nodes; and each job's set from 1, or 0 for any node."""

    node_sets: list[list[tuple[int, int]]]
    node_set: npt.NDArray[np.uint32] | None


def node_set_columns(workload: Workload, system: System) -> NodeSetColumns:
    """Give the node sets of a workload on a system.

    Parameters
    ----------
    workload, system
        The jobs, whose column ``node_group`` names groups of the system.

    Returns
    -------
    NodeSetColumns
        One set for each distinct value of the column; nothing where no job names a group.

    Raises
    ------
    WorkloadError
        If a job names a group that the system does not have.
    """
    jobs = workload.jobs
    if NODE_GROUP not in jobs.columns or jobs[NODE_GROUP].null_count() == len(jobs):
        return {"node_sets": [], "node_set": None}
    distinct = jobs[NODE_GROUP].drop_nulls().unique(maintain_order=True).to_list()
    bounds = pairwise(accumulate((group.count for group in system.groups), initial=0))
    nodes = {group.name: bound for group, bound in zip(system.groups, bounds, strict=True)}
    for value in distinct:
        _check_groups(value, jobs, nodes)
    numbers = {value: number for number, value in enumerate(distinct, start=1)}
    column = jobs[NODE_GROUP].replace_strict(numbers, default=0, return_dtype=pl.UInt32)
    sets = [[nodes[name] for name in value.split(SEPARATOR)] for value in distinct]
    return {"node_sets": sets, "node_set": column.to_numpy()}


def _check_groups(value: str, jobs: pl.DataFrame, known: dict[str, tuple[int, int]]) -> None:
    unknown = next((name for name in value.split(SEPARATOR) if name not in known), None)
    if unknown is not None:
        job = jobs.filter(pl.col(NODE_GROUP) == value)["job_id"][0]
        rule = "must name node groups of the system"
        at = "" if unknown == value else f", but {unknown!r} is none"
        raise WorkloadError(f"job {job}: {NODE_GROUP} = {shown(value)}; {rule}{at}.{suggest(unknown, known)}")
