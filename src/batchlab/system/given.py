"""Checks of the arguments ``workload`` and ``system``."""

from __future__ import annotations

from batchlab.errors import SystemDescriptionError, WorkloadError, shown
from batchlab.system.system import System
from batchlab.workload.workload import Workload

__all__ = ["check_types", "check_workload"]


def check_types(workload: object, system: object) -> None:
    """Raise an error unless the arguments are a workload and a system.

    Raises
    ------
    SystemDescriptionError, WorkloadError
        With the argument of the wrong type.
    """
    if not isinstance(system, System):
        raise SystemDescriptionError(f"system = {shown(system)}; must be a System, e.g. of read_system().")
    check_workload(workload)


def check_workload(workload: object) -> None:
    """Raise an error unless the argument is a workload.

    Raises
    ------
    WorkloadError
        If it has another type, such as the path of a log.
    """
    if not isinstance(workload, Workload):
        rule = "must be a Workload, e.g. of read_swf(). See Workload.from_table()"
        raise WorkloadError(f"workload = {shown(workload)}; {rule}.")
