"""Which machine ``batchlab run`` means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.cli.request import LogRequest, MachineRequest
    from batchlab.system.system import System
    from batchlab.workload.header import Header

__all__ = ["described_machine", "machine_for", "machine_of_log"]


def described_machine(machine: MachineRequest) -> System | None:
    """Read or make the machine that the options describe.

    Parameters
    ----------
    machine
        ``--system``, ``--nodes`` and ``--cores`` (per node; 1 unless given).

    Returns
    -------
    System or None
        None where no option tells the number of nodes.
    """
    from batchlab.system import System, read_system  # noqa: PLC0415  # --help does without NumPy

    if machine.system is not None:
        if machine.nodes is not None or machine.cores is not None:
            raise wrong_usage("describes the whole machine; leave out --nodes and --cores.", "--system")
        return read_system(machine.system)
    if machine.nodes is None:
        return None
    return System.homogeneous(nodes=machine.nodes, resources={"core": machine.cores or 1})


def machine_for(
    described: System | None, log: LogRequest, cores: int | None, header: Callable[[], Header]
) -> System:
    """Give the machine on which a log is run.

    Parameters
    ----------
    described
        What `described_machine` gave.
    log
        The log, which may have been found in the catalogue.
    cores
        ``--cores``, where given.
    header
        Gives the log's header.

    Returns
    -------
    System
        The described one, else that of the catalogue, else that of the header.
    """
    system = described or _catalogued_machine(log.name, cores) or machine_of_log(header(), cores)
    _check_memory(system, log.use_memory)
    return system


def machine_of_log(header: Header, cores: int | None) -> System:
    """Make the machine that a log's header describes.

    Parameters
    ----------
    header
        The log's header.
    cores
        ``--cores``, where given.

    Returns
    -------
    System
        Its name says where it comes from.
    """
    from batchlab.system import System  # noqa: PLC0415  # --help does without NumPy

    size = header.machine_size(cores)
    if size is None:
        raise wrong_usage(
            "is missing, and the log's header has no MaxProcs. Pass --nodes and --cores, or --system.",
            "--nodes",
        )
    nodes, each = size
    said = {"MaxNodes": header.max_nodes, "MaxProcs": header.max_processors}
    fields = ", ".join(f"{label} {value}" for label, value in said.items() if value is not None)
    return System.homogeneous(
        nodes=nodes, resources={"core": each}, name=f"as the log's header says ({fields})"
    )


def _check_memory(system: System, use_memory: bool) -> None:
    """Refuse ``--use-memory`` on a machine without memory."""
    if use_memory and "mem" not in system.resources:
        raise wrong_usage("has the jobs ask for mem, which the machine lacks; pass --system.", "--use-memory")


def _catalogued_machine(name: str | None, cores: int | None) -> System | None:
    """Give the machine of a log that was found by its name; where cores are given, its header decides."""
    if name is None or cores is not None:
        return None
    from batchlab.trace import traces  # noqa: PLC0415  # --help does without

    return traces.system(name) if traces.find(name).nodes else None
