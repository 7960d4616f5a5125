"""Which machine ``batchlab run`` means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.system.system import System
    from batchlab.workload.header import Header

__all__ = ["check_memory", "described_machine", "machine_of_log"]


def described_machine(system: Path | None, nodes: int | None, cores: int | None) -> System | None:
    """Read or make the machine that the options describe.

    Parameters
    ----------
    system
        The file of ``--system``.
    nodes, cores
        ``--nodes`` and ``--cores`` (per node; 1 unless given).

    Returns
    -------
    System or None
        None where no option tells the number of nodes.
    """
    from batchlab.system import System, read_system  # noqa: PLC0415  # --help does without NumPy

    if system is not None:
        if nodes is not None or cores is not None:
            raise wrong_usage("describes the whole machine; leave out --nodes and --cores.", "--system")
        return read_system(system)
    if nodes is None:
        return None
    return System.homogeneous(nodes=nodes, resources={"core": cores or 1})


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


def check_memory(system: System, use_memory: bool) -> None:
    """Refuse ``--use-memory`` on a machine without memory."""
    if use_memory and "mem" not in system.resources:
        raise wrong_usage("has the jobs ask for mem, which the machine lacks; pass --system.", "--use-memory")
