"""Build the preemption of a system from a Slurm configuration, and remark on its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from batchlab.slurm import Timing
from batchlab.system.queues import Preemption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.core.vocabulary import PreemptionMode
    from batchlab.slurm import SlurmConfiguration
    from batchlab.slurm.configuration.report import Remarks
    from batchlab.system.accounts import QualityOfService
    from batchlab.system.queues import Partition

__all__ = ["preemption_of", "remark_on_policy"]

_WEIGHTS = {
    "association": ("PriorityWeightAssoc", "accounts"),
    "fair_share": ("PriorityWeightFairshare", "accounts"),
    "qos": ("PriorityWeightQOS", "QOS"),
}


def remark_on_policy(configuration: SlurmConfiguration, remarks: Remarks) -> None:
    """Add remarks on weights that are ignored, and on unsupported schedulers."""
    given, counted = configuration.priority, configuration.counted
    if given.type == "multifactor":
        if given.age != counted.age:
            says = (
                "jobs age only with AccountingStorageType=accounting_storage/slurmdbd, as in Slurm; the "
                "factor is left out"
            )
            remarks.add("PriorityWeightAge", "slurm_conf", says)
        for name, (key, needed) in _WEIGHTS.items():
            if getattr(given, name) != getattr(counted, name):
                says = f"there is no file of sacctmgr with {needed}; the factor is left out"
                remarks.add(key, "slurm_conf", says)
        for name in [name for name in given.tres if name not in counted.tres]:
            says = f"no node has {name} to give to jobs; its weight is left out"
            remarks.add("PriorityWeightTRES", "slurm_conf", says)
    if configuration.timing.kill_wait != Timing.kill_wait:
        says = (
            "no job ignores SIGTERM at its limit: all leave their nodes at once; only estimates and "
            "preemption use KillWait"
        )
        remarks.add("KillWait", "slurm_conf", says)
    if configuration.scheduler.type not in {"backfill", "builtin"}:
        says = f"there is no scheduler {configuration.scheduler.type}; jobs start as with builtin"
        remarks.add("SchedulerType", "slurm_conf", says)


def preemption_of(
    configuration: SlurmConfiguration,
    partitions: Sequence[Partition],
    qualities: Sequence[QualityOfService],
    remarks: Remarks,
) -> Preemption | None:
    """Build the preemption; None if it is off, or no job could preempt another."""
    given = configuration.preemption
    if given.type == "none":
        return None
    if given.mode == "off":
        says = "is given without a PreemptMode; Slurm does not start with it, and nothing is preempted here"
        remarks.add("PreemptType", "slurm_conf", says)
        return None
    if given.type == "qos" and not any(each.preempts for each in qualities):
        says = "no QOS of the files of sacctmgr preempts another; nothing is preempted"
        remarks.add("PreemptType", "slurm_conf", says)
        return None
    if given.type == "partition_prio" and len({each.tier for each in partitions}) == 1:
        says = "all partitions have one tier; nothing is preempted"
        remarks.add("PreemptType", "slurm_conf", says)
        return None
    _differences(configuration, remarks)
    return Preemption(
        by="qos" if given.type == "qos" else "tier",
        mode=cast("PreemptionMode", given.mode),
        exempt_time=0.0 if given.mode == "suspend" else given.exempt_time,
        grace_time=_grace(configuration, remarks),
        youngest_first=given.youngest_first,
    )


def _grace(configuration: SlurmConfiguration, remarks: Remarks) -> float:
    """Return the grace time; if it differs between victims, the minimum."""
    given = configuration.preemption
    if given.mode == "suspend":
        return 0.0
    by_qos = given.type == "qos"
    victims = {name for each in configuration.qualities for name in each.preempts}
    times = (
        {each.grace_time for each in configuration.qualities if each.name in victims}
        if by_qos
        else {float(each.grace_time) for each in configuration.partitions}
    )
    if len(times) == 1:
        return times.pop()
    if len(times) > 1:
        table = "qos" if by_qos else "partitions"
        remarks.add("GraceTime", table, f"differs among victims; all have {min(times):g} s here")
    return min(times, default=0.0)


def _differences(configuration: SlurmConfiguration, remarks: Remarks) -> None:
    """Add remarks on victims' modes that differ from the cluster's, and on unsupported behaviour."""
    given = configuration.preemption
    if given.mode == "suspend":
        says = (
            "suspended jobs wait and go on later; in Slurm they stay in memory and go on when the other ends"
        )
        remarks.add("SUSPEND", "PreemptMode", says)
    if given.mode == "suspend" and given.exempt_time:
        says = "does not hold for jobs that are suspended; before 26.05 it did not in Slurm either"
        remarks.add("PreemptExemptTime", "slurm_conf", says)
    for each in configuration.qualities:
        differs = [
            mode for mode in each.preempt_mode if mode not in {given.mode, "within", "gang", "priority"}
        ]
        if given.type == "qos" and differs:
            says = f"QOS {each.name}: {differs[0]} is not the cluster's mode, which holds here"
            remarks.add("PreemptMode", "qos", says, each.place)
