"""Checks of the arguments ``workload`` and ``system``."""

from __future__ import annotations

from batchlab.system.system import check_system
from batchlab.workload.workload import check_workload

__all__ = ["check_types"]


def check_types(workload: object, system: object) -> None:
    """Raise an error unless the arguments are a workload and a system.

    Raises
    ------
    SystemDescriptionError, WorkloadError
        With the argument of the wrong type.
    """
    check_system(system)
    check_workload(workload)
