"""Preemption: the classes of jobs and which classes may preempt which (semantics, S16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.workload.attributes import attribute

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import PreemptionColumns
    from batchlab.system import System
    from batchlab.workload.routing import Routes
    from batchlab.workload.workload import Workload

    Classes = tuple[npt.NDArray[np.uint32], list[list[int]], list[float]]

__all__ = ["preemption_columns"]


def preemption_columns(workload: Workload, system: System, routes: Routes | None) -> PreemptionColumns | None:
    """Return the class of each job, and which classes may preempt which, for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its preemption.
    routes
        The queues and partitions of the jobs.

    Returns
    -------
    dict or None
        None if no job may preempt another. O(jobs).
    """
    rules = system.preemption
    if rules is None:
        return None
    classes = _tiers(system, routes) if rules.by == "tier" else _qualities(workload, system)
    if classes is None:
        return None
    class_of, preempts, importance = classes
    return {
        "class_of": class_of,
        "preempts": preempts,
        "importance": importance,
        "mode": rules.mode,
        "exempt_time": rules.exempt_time,
        "grace_time": rules.grace_time,
        "youngest_first": rules.youngest_first,
    }


def _tiers(system: System, routes: Routes | None) -> Classes | None:
    """Return classes by tier: each class may preempt lower tiers."""
    if routes is None or not system.partitions:
        return None
    tiers = [partition.tier for partition in system.partitions]
    known = sorted(set(tiers))
    # A job without a partition is rejected, so its class is irrelevant.
    class_of = np.searchsorted(known, routes.greatest(tiers, usual=known[0])).astype(np.uint32)
    return class_of, [[*range(above)] for above in range(len(known))], [float(tier) for tier in known]


def _qualities(workload: Workload, system: System) -> Classes | None:
    """Return classes by quality of service; jobs without a known one share an additional class."""
    places = {quality.name: place for place, quality in enumerate(system.qos)}
    named = attribute(workload, "qos")
    others = len(places)
    class_of = np.array([places.get(name, others) for name in named.to_list()], np.uint32)
    preempts = [[places[name] for name in quality.preempts] for quality in system.qos]
    return class_of, [*preempts, []], [*(quality.priority for quality in system.qos), 0.0]
