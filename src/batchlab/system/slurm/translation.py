"""Makes a system of the configuration of a cluster that runs Slurm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from batchlab.errors import SystemDescriptionError
from batchlab.slurm import Report, read_configuration
from batchlab.system.slurm.accounts import accounts_of, fair_share_of, qualities_of
from batchlab.system.slurm.limits import limits_of
from batchlab.system.slurm.machine import core_multiple, down_ranges, groups_of, partitions_of
from batchlab.system.slurm.note import note_of
from batchlab.system.slurm.policy import remark_on_policy
from batchlab.system.slurm.preemption import preemption_of
from batchlab.system.slurm.remarks import Remarks
from batchlab.system.system import System

if TYPE_CHECKING:
    import os

    from batchlab.slurm import Remark, SlurmConfiguration

__all__ = ["Translation", "check", "translate"]


@dataclass(frozen=True)
class Translation:
    """A system, and what it cannot have as Slurm has it.

    Attributes
    ----------
    configuration
        What it is made of.
    system
        The system.
    remarks
        What is different.
    """

    configuration: SlurmConfiguration
    system: System
    remarks: tuple[Remark, ...]

    @cached_property
    def report(self) -> Report:
        """What becomes of every key."""
        return Report.of(self.configuration, self.remarks)


def translate(configuration: SlurmConfiguration) -> Translation:
    """Make a system of a configuration.

    Nodes have ``core`` (Slurm's CPUs, without those kept for the system), ``mem`` (kB, where memory is given
    to jobs) and generic resources by their names, as ``gpu``. There is a group for each line of nodes, a
    partition for each that has nodes (the default first), accounts, QOS and limits where the files of
    ``sacctmgr`` say them. Its policy is that of the configuration, and nodes that are DOWN or DRAIN are out
    of service.

    Parameters
    ----------
    configuration
        As `batchlab.slurm.read_configuration` gives it.

    Returns
    -------
    Translation

    Raises
    ------
    SystemDescriptionError
        If there are no nodes, or a name is not known.
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
    """Read a configuration, and tell what becomes of every key of it.

    Parameters
    ----------
    path
        A ``slurm.conf``, or its folder.
    options
        Those of `batchlab.slurm.read_configuration`.

    Returns
    -------
    Report

    Raises
    ------
    SystemDescriptionError
        If Slurm would not start with it, or it has no nodes.
    """
    return translate(read_configuration(path, **options)).report  # type: ignore[arg-type]  # as it says


def _placed(error: SystemDescriptionError, configuration: SlurmConfiguration) -> SystemDescriptionError:
    """Give an error the file, where it names none."""
    message = str(error)
    known = any(message.startswith(file) for file in configuration.files)
    return error if known else SystemDescriptionError(f"{configuration.path}: {message}")
