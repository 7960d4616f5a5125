"""Checks of the arguments ``workload`` and ``system``."""

from __future__ import annotations

from batchlab.errors import SystemDescriptionError, shown
from batchlab.system.system import System
from batchlab.workload.given import check_workload

__all__ = ["check_system", "check_types"]


def check_types(workload: object, system: object) -> None:
    """Raise an error unless the arguments are a workload and a system.

    Raises
    ------
    SystemDescriptionError, WorkloadError
        With the argument of the wrong type.
    """
    check_system(system)
    check_workload(workload)


def check_system(system: object) -> None:
    """Raise an error unless the argument is a system.

    Raises
    ------
    SystemDescriptionError
        If it has another type, such as the path of a description.
    """
    if not isinstance(system, System):
        raise SystemDescriptionError(f"system = {shown(system)}; must be a System, e.g. of read_system().")
