"""Attributes of each job's partitions that change its position in the queue (semantics, S25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.policy.orders import Multifactor
from batchlab.simulation.priorities import partition_parts

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import PlaceColumns
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.routing import Routes

__all__ = ["over_time_columns", "place_columns"]


def place_columns(
    workload: Workload, system: System, policy: Policy, routes: Routes | None
) -> list[PlaceColumns]:
    """Return the queue attributes of the first, second, … partition of each job.

    Parameters
    ----------
    workload, system
        The jobs and the machine.
    policy
        The policy. ``slurm`` adds a queue entry for each partition of a job.
    routes
        The partitions of the jobs, if the system has any.

    Returns
    -------
    list
        Empty if no job has partitions that differ in an attribute that the order uses.
    """
    if policy.slurm is None or routes is None:
        return []
    is_multifactor = isinstance(policy.order, str) and policy.order_name == "multifactor"
    rule = Multifactor.of(str(policy.order)) if is_multifactor else Multifactor()
    resources = [system.resources.index(name) for name in rule.tres]
    traits = [
        (
            partition.tier,
            partition.priority_factor if rule.partition else 0.0,
            *system.capacity[system.has_nodes(partition)][:, resources].sum(axis=0).tolist(),
        )
        for partition in system.partitions
    ]
    if all(len({traits[place] for place in places}) <= 1 for places in routes.partitions):
        return []
    largest = max(partition.priority_factor for partition in system.partitions) or 1.0
    tiers = [partition.tier for partition in system.partitions]
    factors = [partition.priority_factor / largest for partition in system.partitions]
    return [
        {
            "tier": routes.nth(number, tiers, usual=0).astype(np.int32),
            "partition": routes.nth(number, factors, usual=0.0) if rule.partition else None,
            "resources": [partition_parts(workload, system, routes, name, number) for name in rule.tres],
        }
        for number in range(max(map(len, routes.partitions)))
    ]


def over_time_columns(system: System, policy: Policy, routes: Routes | None) -> list[npt.NDArray[np.float64]]:
    """Return the over-time limits of jobs in their first, second, … partition, seconds.

    Parameters
    ----------
    system, policy
        The machine, and ``slurm``. Its own ``over_time_limit`` is the default of partitions.
    routes
        The partitions of the jobs, if the system has any.

    Returns
    -------
    list
        Empty if no partition sets an over-time limit.
    """
    given = [partition.over_time_limit for partition in system.partitions]
    if policy.slurm is None or routes is None or all(each is None for each in given):
        return []
    usual = float(policy.slurm.over_time_limit)
    times = [usual if each is None else each for each in given]
    return [routes.nth(number, times, usual=usual) for number in range(max(map(len, routes.partitions)))]
