"""Build a system from the configuration of a Slurm cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from batchlab.errors import SystemDescriptionError
from batchlab.slurm import Report, read_configuration
from batchlab.slurm.translation.accounts import accounts_of, fair_share_of, qualities_of
from batchlab.slurm.translation.limits import limits_of
from batchlab.slurm.translation.machine import core_multiple, down_ranges, groups_of, partitions_of
from batchlab.slurm.translation.note import note_of
from batchlab.slurm.translation.policy import remark_on_policy
from batchlab.slurm.translation.preemption import preemption_of
from batchlab.slurm.translation.remarks import Remarks
from batchlab.system.system import System

if TYPE_CHECKING:
    import os

    from batchlab.slurm import Remark, SlurmConfiguration

__all__ = ["Translation", "check", "read_slurm", "translate"]


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
            note=note_of(Report.of(configuration, tuple(remarks.found))),
        )
    except SystemDescriptionError as error:
        raise _placed(error, configuration) from None
    return Translation(configuration, system, tuple(remarks.found))


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
