"""Remarks on settings of the policy that differ from Slurm's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.slurm import Timing

if TYPE_CHECKING:
    from batchlab.slurm import SlurmConfiguration
    from batchlab.slurm.translation.remarks import Remarks

__all__ = ["remark_on_policy"]

_WEIGHTS = {
    "association": ("PriorityWeightAssoc", "accounts"),
    "fair_share": ("PriorityWeightFairshare", "accounts"),
    "qos": ("PriorityWeightQOS", "QOS"),
}


def remark_on_policy(configuration: SlurmConfiguration, remarks: Remarks) -> None:
    """Add remarks on weights that are ignored, and on unsupported schedulers."""
    given, counted = configuration.priority, configuration.counted
    if given.type == "multifactor":
        for name, (key, needed) in _WEIGHTS.items():
            if getattr(given, name) != getattr(counted, name):
                says = f"there is no file of sacctmgr with {needed}; the factor is left out"
                remarks.add(key, "slurm_conf", says)
        for name in [name for name in given.tres if name not in counted.tres]:
            says = f"no node has {name} to give to jobs; its weight is left out"
            remarks.add("PriorityWeightTRES", "slurm_conf", says)
    if configuration.timing.kill_wait != Timing.kill_wait:
        says = (
            "no job ignores SIGTERM at its limit: all leave their nodes at once; estimates and preemption "
            "go by it"
        )
        remarks.add("KillWait", "slurm_conf", says)
    if configuration.scheduler.type not in {"backfill", "builtin"}:
        says = f"there is no scheduler {configuration.scheduler.type}; jobs start as with builtin"
        remarks.add("SchedulerType", "slurm_conf", says)
