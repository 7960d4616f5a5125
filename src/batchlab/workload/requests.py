"""What the tasks of jobs ask of the resources of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from batchlab.system import System
    from batchlab.workload.workload import Workload

__all__ = ["amounts"]


def amounts(workload: Workload, system: System) -> list[int | npt.NDArray[np.int64]]:
    """Give what each task asks of each resource: one number for all jobs, or one per job.

    A workload that says nothing of cores asks for processors, which the system's equivalence translates.

    Parameters
    ----------
    workload, system
        The jobs, and the machine.

    Returns
    -------
    list
        One entry for each of the system's resources.
    """
    processor = {} if "core" in workload.resources else dict(system.equivalence)
    return [
        workload.jobs[name].to_numpy() if name in workload.resources else processor.get(name, 0)
        for name in system.resources
    ]
