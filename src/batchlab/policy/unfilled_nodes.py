"""Jobs whose tasks do not fill their nodes, which Slurm's ``select/cons_tres`` is not modelled for (S25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.workload.routing import routes

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.policy.policy import Policy
    from batchlab.system import System
    from batchlab.workload.routing import Routes
    from batchlab.workload.workload import Workload

__all__ = ["takes_whole_nodes", "tasks_per_node", "unfilled"]

_COLUMN = "tasks_per_node"


def takes_whole_nodes(
    workload: Workload, system: System, routed: Routes | None
) -> npt.NDArray[np.bool_] | None:
    """Return which jobs take nodes whole: jobs that request it, and jobs of exclusive partitions.

    Parameters
    ----------
    workload, system, routed
        The jobs, the machine, and the partitions of the jobs, from `routes`.

    Returns
    -------
    ndarray or None
        bool, shape (jobs,); None if no job can take nodes whole.
    """
    jobs = workload.jobs
    asked = jobs["exclusive"].to_numpy() if "exclusive" in jobs.columns else None
    of_partitions = [int(partition.exclusive) for partition in system.partitions]
    if routed is None or not any(of_partitions):
        return asked
    by_partition = routed.greatest(of_partitions, usual=0) > 0
    return by_partition if asked is None else asked | by_partition


def unfilled(workload: Workload, system: System, policy: Policy) -> npt.NDArray[np.bool_] | None:
    """Return which jobs have tasks that do not fill their nodes, if the policy then ignores `tasks_per_node`.

    Parameters
    ----------
    workload, system, policy
        The run.

    Returns
    -------
    ndarray or None
        bool, shape (jobs,); None if there is no such job: under other policies than ``slurm`` with
        ``select=cores`` the last node may have fewer tasks than the others.
    """
    if policy.slurm is None or policy.slurm.select != "cores" or _COLUMN not in workload.jobs.columns:
        return None
    tasks = workload.jobs["tasks"].to_numpy()
    per_node = np.minimum(workload.jobs[_COLUMN].to_numpy(), tasks)
    found: npt.NDArray[np.bool_] = (per_node > 0) & (tasks % np.maximum(per_node, 1) != 0)
    if not found.any():
        return None
    whole = takes_whole_nodes(workload, system, routes(workload, system))
    if whole is not None:
        found &= ~whole
    return found if found.any() else None


def tasks_per_node(workload: Workload, system: System, policy: Policy) -> npt.NDArray[np.int64] | None:
    """Return the most tasks of each job on a node; 0 if the policy places the tasks on any nodes.

    Parameters
    ----------
    workload, system, policy
        The run.

    Returns
    -------
    ndarray or None
        int64, shape (jobs,); None if no job has such a limit.
    """
    if _COLUMN not in workload.jobs.columns:
        return None
    given = workload.jobs[_COLUMN].to_numpy()
    uneven = unfilled(workload, system, policy)
    return given if uneven is None else np.where(uneven, 0, given)
