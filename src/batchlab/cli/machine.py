"""Which machine ``batchlab run`` means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.cli.log import mapping_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.cli.request import LogRequest, MachineRequest
    from batchlab.policy import Policy
    from batchlab.system.system import System
    from batchlab.workload.header import Header

__all__ = ["machine_for", "machine_of_log", "policy_for"]


def machine_for(
    described: System | None, log: LogRequest, machine: MachineRequest, header: Callable[[], Header]
) -> System:
    """Give the machine on which a log is run.

    Parameters
    ----------
    described
        What `MachineRequest.described` gave.
    log
        The log, which may have been found in the catalogue.
    machine
        What the options say of the machine.
    header
        Gives the log's header.

    Returns
    -------
    System
        The described one, else that of the mapping, of the catalogue, or of the header.
    """
    system = (
        described
        or _mapped_machine(log, machine)
        or _catalogued_machine(log, machine, header)
        or machine_of_log(header(), machine)
    )
    _check_memory(system, log.use_memory)
    return system


def machine_of_log(header: Header, machine: MachineRequest) -> System:
    """Make the machine that a log's header describes.

    Parameters
    ----------
    header
        The log's header.
    machine
        What the options say of it: ``--cores`` and ``--equivalence``.

    Returns
    -------
    System
        Its name says where it comes from.
    """
    from batchlab.trace.traces import machine_of_sizes  # noqa: PLC0415  # --help does without

    said = machine.equivalence is not None
    each = machine.cores_of_processor if said else header.processor.get("core", 1)
    sizes = header.node_sizes(None if machine.cores is None else machine.cores // each)
    if not sizes:
        raise wrong_usage(
            "is missing, and the log's header has no MaxProcs. Pass --nodes and --cores, or --system.",
            "--nodes",
        )
    system = machine_of_sizes(sizes, _assumed(header, machine, sizes), each)
    if machine.cores is None or machine.cores % each == 0:
        return system
    groups = tuple(replace(group, resources={"core": machine.cores}) for group in system.groups)
    return replace(system, groups=groups)


def policy_for(policy: str | None, machine: MachineRequest) -> Policy:
    """Take the policy under which a log is run.

    Parameters
    ----------
    policy
        ``--policy``, if it was given: a spec, or what a Python file defines.
    machine
        ``--system`` and the other options that describe the machine.

    Returns
    -------
    Policy
        The given one, else that of the system's description (Slurm's files have one), else ``fcfs``; as it is
        on this machine, by `Policy.on`.
    """
    from batchlab.policy.of_file import policy_of  # noqa: PLC0415  # --help does without

    given = None if policy is None else policy_of(policy)
    if given is not None and not given.configured and given.slurm is None:
        return given
    system = None if machine.system is None else machine.described
    configured = "" if system is None else system.policy
    return (given or policy_of(configured or "fcfs")).on(configured)


def _assumed(header: Header, machine: MachineRequest, sizes: Sequence[tuple[int, int]]) -> str:
    """Say what the header says of the machine, and what was assumed besides."""
    limits = {"MaxNodes": header.max_nodes, "MaxProcs": header.max_processors}
    fields = ", ".join(f"{label} {value}" for label, value in limits.items() if value is not None)
    if machine.cores is None and header.max_nodes is None:
        fields += "; each processor taken as a node"
    elif len(sizes) > 1:
        fields += "; shared out evenly"
    return f"as the log's header says ({fields})"


def _check_memory(system: System, use_memory: bool | None) -> None:
    """Refuse ``--use-memory`` on a machine without memory."""
    if use_memory and "mem" not in system.resources:
        raise wrong_usage("has the jobs ask for mem, which the machine lacks; pass --system.", "--use-memory")


def _mapped_machine(log: LogRequest, machine: MachineRequest) -> System | None:
    """Read the machine that a mapping names; None if it names none, or options describe a machine."""
    if machine.cores is not None or machine.equivalence is not None:
        return None
    mapping = mapping_of(log)
    if mapping is None or not mapping.machine:
        return None
    from batchlab.system import read_system  # noqa: PLC0415  # only files need it

    return read_system(mapping.machine)


def _catalogued_machine(
    log: LogRequest, machine: MachineRequest, header: Callable[[], Header]
) -> System | None:
    """Give the machine of a log that the catalogue knows; where options say something, its header decides.

    A file that only has the name of a log of the catalogue is taken for it if its header tells of as many
    processors, or of none.
    """
    if machine.cores is not None or machine.equivalence is not None:
        return None
    from batchlab.trace import traces  # noqa: PLC0415  # --help does without

    if log.name is not None:
        return traces.system(log.name) if traces.find(log.name).node_sizes else None
    trace = traces.of_file(log.trace.name)
    if (
        trace is None
        or not trace.node_sizes
        or (header().max_processors or trace.processors) != trace.processors
    ):
        return None
    return traces.machine_of_sizes(trace.node_sizes, f"as the catalogue knows {trace.name}")
