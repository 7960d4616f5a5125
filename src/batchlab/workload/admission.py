"""Which jobs meet the conditions of queues, partitions and limits (semantics, S11)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.workload.attributes import attribute
from batchlab.workload.requests import amounts
from batchlab.workload.time_limits import time_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab.system import Conditions, System
    from batchlab.workload.attribute_columns import Attribute
    from batchlab.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]

__all__ = ["Admission"]

_OWNERS: Mapping[str, Attribute] = {
    "users": "user",
    "groups": "group",
    "accounts": "account",
    "qos": "qos",
}


class Admission:
    """Checks which jobs meet conditions; computes job attributes on first use."""

    def __init__(self, workload: Workload, system: System) -> None:
        self._workload, self._system = workload, system
        self._amounts = amounts(workload, system)
        self._names: dict[str, pl.Series] = {}

    def admits(self, conditions: Conditions) -> Mask:
        """Return a boolean mask of the jobs that meet all conditions."""
        admitted = np.ones(len(self._workload.jobs), np.bool_)
        for name in ("processors", "nodes", "time"):
            least, most = conditions.bounds(name)
            if (least, most) != (0, np.inf):
                values = getattr(self, name)
                admitted &= (values >= least) & (values <= most)
        for condition, column in _OWNERS.items():
            names = getattr(conditions, condition)
            if names is not None:
                if column not in self._names:
                    self._names[column] = attribute(self._workload, column)
                admitted &= self._names[column].is_in(names).fill_null(value=False).to_numpy()
        return admitted

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """The time limit of each job, seconds; infinite for a job without a limit."""
        return time_limits(self._workload.jobs)

    @cached_property
    def processors(self) -> npt.NDArray[np.float64]:
        """The processors that each job requests; its number of tasks if the system has no ``core``."""
        resources = self._system.resources
        cores = self._amounts[resources.index("core")] if "core" in resources else 1
        return self._workload.jobs["tasks"].cast(pl.Float64).to_numpy() * cores

    @cached_property
    def nodes(self) -> npt.NDArray[np.float64]:
        """The minimum number of nodes that each job can run on; infinite if it fits on no node group."""
        jobs = self._workload.jobs
        tasks = jobs["tasks"].to_numpy()
        most = np.zeros(len(jobs), np.int64)
        for group in self._system.groups:
            slots = tasks.copy()
            for resource, asked in zip(self._system.resources, self._amounts, strict=True):
                has = group.resources.get(resource, 0)
                asks = np.broadcast_to(asked, len(jobs))
                slots = np.where(asks > 0, np.minimum(slots, has // np.maximum(asks, 1)), slots)
            most = np.maximum(most, slots)
        if "tasks_per_node" in jobs.columns:
            limit = jobs["tasks_per_node"].to_numpy()
            most = np.where(limit > 0, np.minimum(most, limit), most)
        return np.where(most > 0, np.ceil(tasks / np.maximum(most, 1)), np.inf)
