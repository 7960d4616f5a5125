"""Translate a configuration of Slurm to a system and a policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from batchlab.core.arguments import checked
from batchlab.errors import SystemDescriptionError
from batchlab.slurm import Report, Timing, read_configuration
from batchlab.slurm.configuration.report import Remarks
from batchlab.slurm.translation.accounting import accounts_of, fair_share_of, limits_of, qualities_of
from batchlab.slurm.translation.machine import core_multiple, down_ranges, groups_of, partitions_of
from batchlab.system.queues import Preemption
from batchlab.system.system import System

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from batchlab.core.vocabulary import PreemptionMode
    from batchlab.slurm import Remark, SlurmConfiguration
    from batchlab.slurm.configuration.report import Treatment
    from batchlab.system.accounts import QualityOfService
    from batchlab.system.queues import Partition

__all__ = ["Translation", "check", "preemption_of", "read_slurm", "remark_on_policy", "translate"]

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


_COUNTED: tuple[tuple[Treatment, str], ...] = (
    ("not_modelled", "not modelled as in Slurm"),
    ("read", "not modelled yet"),
    ("no_effect", "without effect"),
    ("unknown", "unknown"),
)


def _note_of(report: Report) -> str:
    """Count the keys that do not affect simulations, and the nodes and partitions out of service.

    Parameters
    ----------
    report
        The report on the configuration.

    Returns
    -------
    str
        For example ``"2 nodes DOWN or DRAIN; keys: 3 not modelled as in Slurm, 9 without effect; see batchlab
        slurm check"``; empty if all counts are 0.
    """
    parts = [*_out_of_service(report.configuration)]
    counts = report.counts
    keys = [f"{counts[treatment]:,} {says}" for treatment, says in _COUNTED if counts[treatment]]
    parts += [f"keys: {', '.join(keys)}"] if keys else []
    return "; ".join([*parts, "see batchlab slurm check"]) if parts else ""


def _out_of_service(configuration: SlurmConfiguration) -> Iterator[str]:
    partitions = [each.state for each in configuration.partitions if each.state != "UP"]
    for noun, states in (("node", [*configuration.out_of_service.values()]), ("partition", partitions)):
        if states:
            yield f"{len(states):,} {noun}{'s' * (len(states) > 1)} {' or '.join(dict.fromkeys(states))}"


@dataclass(frozen=True)
class Translation:
    """A system built from a configuration, and the differences from Slurm.

    Attributes
    ----------
    configuration
        The configuration.
    system
        The system.
    remarks
        Differences from Slurm.
    """

    configuration: SlurmConfiguration
    system: System
    remarks: tuple[Remark, ...]

    @cached_property
    def report(self) -> Report:
        """The treatment of every key."""
        return Report.of(self.configuration, self.remarks)


@checked(SystemDescriptionError)
def translate(configuration: SlurmConfiguration) -> Translation:
    """Build a system from a configuration.

    Nodes have ``core`` (Slurm's CPUs, without those reserved for the system), ``mem`` (kB, if memory is
    allocated to jobs) and generic resources by their names, such as ``gpu``. Each line of nodes becomes a
    group, each partition with nodes a partition (the default first). Accounts, QOS and limits come from the
    files of ``sacctmgr``, if any. The policy is that of the configuration, and nodes that are DOWN or DRAIN
    are out of service.

    Parameters
    ----------
    configuration
        The result of `batchlab.slurm.read_configuration`.

    Returns
    -------
    Translation

    Raises
    ------
    SystemDescriptionError
        If there are no nodes, or a name is unknown.
    """
    remarks = Remarks()
    groups = groups_of(configuration, remarks)
    resources = dict.fromkeys(name for group in groups for name in group.resources)
    partitions = partitions_of(configuration, remarks)
    qualities = qualities_of(configuration, remarks)
    remark_on_policy(configuration, remarks)
    named = [each.name for each in partitions]
    try:
        system = System(
            groups=groups,
            name=configuration.cluster,
            partitions=partitions,
            accounts=accounts_of(configuration.accounting, remarks),
            qos=qualities,
            fair_share=fair_share_of(configuration, resources, remarks),
            limits=limits_of(configuration, named, resources, remarks),
            preemption=preemption_of(configuration, partitions, qualities, remarks),
            requeue=configuration.timing.requeue,
            down=down_ranges(configuration),
            core_multiple=core_multiple(configuration),
            policy=configuration.policy,
            note=_note_of(Report.of(configuration, tuple(remarks.found))),
        )
    except SystemDescriptionError as error:
        raise _placed(error, configuration) from None
    return Translation(configuration, system, tuple(remarks.found))


@checked(SystemDescriptionError)
def check(path: str | os.PathLike[str], **options: object) -> Report:
    """Read a configuration, and report the treatment of each of its keys.

    Parameters
    ----------
    path
        A ``slurm.conf``, or its folder.
    options
        As for `batchlab.slurm.read_configuration`.

    Returns
    -------
    Report

    Raises
    ------
    SystemDescriptionError
        If Slurm would not start with the configuration, or it has no nodes.
    """
    return translate(read_configuration(path, **options)).report  # type: ignore[arg-type]  # as it says


def read_slurm(path: str | os.PathLike[str]) -> System:
    """Read the system of a ``slurm.conf`` or its folder, for `batchlab.read_system`."""
    return translate(read_configuration(path)).system


def _placed(error: SystemDescriptionError, configuration: SlurmConfiguration) -> SystemDescriptionError:
    """Return an error that names the file."""
    message = str(error)
    known = any(message.startswith(file) for file in configuration.files)
    return error if known else SystemDescriptionError(f"{configuration.path}: {message}")
