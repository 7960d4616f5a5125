"""Build a system from the configuration of a Slurm cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from batchlab.core.arguments import checked
from batchlab.errors import SystemDescriptionError
from batchlab.slurm import Report, read_configuration
from batchlab.slurm.configuration.report import Remarks
from batchlab.slurm.translation.accounting import accounts_of, fair_share_of, limits_of, qualities_of
from batchlab.slurm.translation.machine import core_multiple, down_ranges, groups_of, partitions_of
from batchlab.slurm.translation.policy import preemption_of, remark_on_policy
from batchlab.system.system import System

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from batchlab.slurm import Remark, SlurmConfiguration
    from batchlab.slurm.configuration.report import Treatment

__all__ = ["Translation", "check", "read_slurm", "translate"]

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
