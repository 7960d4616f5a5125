"""The check of an argument that must be a workload."""

from __future__ import annotations

from batchlab.errors import WorkloadError, shown
from batchlab.workload.workload import Workload

__all__ = ["check_workload"]


def check_workload(workload: object, argument: str = "workload") -> None:
    """Raise an error unless the argument is a workload.

    Raises
    ------
    WorkloadError
        If it has another type, such as the path of a log.
    """
    if not isinstance(workload, Workload):
        rule = "must be a Workload, e.g. of read_swf(). See Workload.from_table()"
        raise WorkloadError(f"{argument} = {shown(workload)}; {rule}.")
