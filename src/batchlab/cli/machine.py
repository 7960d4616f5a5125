"""Find the machine of a run from options, mapping, catalogue or log header."""

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
    """Return the machine on which a log is run.

    Parameters
    ----------
    described
        The result of `MachineRequest.described`.
    log
        The log; the catalogue may know it.
    machine
        The machine options.
    header
        Returns the log's header.

    Returns
    -------
    System
        The described machine, else the machine of the mapping, of the catalogue, or of the header.
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
    """Build the machine that a log's header describes.

    Parameters
    ----------
    header
        The log's header.
    machine
        The options ``--cores`` and ``--equivalence``.

    Returns
    -------
    System
        The machine; its name states its origin.
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
    """Return the policy under which a log is run.

    Parameters
    ----------
    policy
        ``--policy``, if given: a spec, or a name in a Python file.
    machine
        ``--system`` and the other options that describe the machine.

    Returns
    -------
    Policy
        The given policy, else the policy of the system's description (Slurm's files have one), else ``fcfs``;
        adapted to this machine by `Policy.on`.
    """
    from batchlab.policy.load import policy_of  # noqa: PLC0415  # --help does without

    given = None if policy is None else policy_of(policy)
    if given is not None and not given.configured and given.slurm is None:
        return given
    system = None if machine.system is None else machine.described
    configured = "" if system is None else system.policy
    return (given or policy_of(configured or "fcfs")).on(configured)


def _assumed(header: Header, machine: MachineRequest, sizes: Sequence[tuple[int, int]]) -> str:
    """Return the machine facts from the header, and the assumptions added to them."""
    limits = {"MaxNodes": header.max_nodes, "MaxProcs": header.max_processors}
    fields = ", ".join(f"{label} {value}" for label, value in limits.items() if value is not None)
    if machine.cores is None and header.max_nodes is None:
        fields += "; each processor taken as a node"
    elif len(sizes) > 1:
        fields += "; shared out evenly"
    return f"as the log's header says ({fields})"


def _check_memory(system: System, use_memory: bool | None) -> None:
    """Raise if ``--use-memory`` is given and the machine has no memory."""
    if use_memory and "mem" not in system.resources:
        raise wrong_usage("has the jobs ask for mem, which the machine lacks; pass --system.", "--use-memory")


def _mapped_machine(log: LogRequest, machine: MachineRequest) -> System | None:
    """Read the machine of the mapping; None if it has none, or options describe a machine."""
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
    """Return the machine of a log in the catalogue; None if options describe the machine.

    A file that only has the name of a catalogued log is accepted if its header has the same number of
    processors, or no number.
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
