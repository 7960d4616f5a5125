"""``batchlab systems``: list and show ready descriptions of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.options import FormatOption  # noqa: TC001  # typer reads the annotations
from batchlab.cli.output import as_json
from batchlab.cli.platform import described_topology
from batchlab.cli.terminal import print_blocks
from batchlab.core.text_tables import Facts, Table

if TYPE_CHECKING:
    from batchlab.platform.machines import Machine as PlatformMachine
    from batchlab.system import System
    from batchlab.system.machines import Machine

__all__ = ["systems"]

systems = typer.Typer(help="Ready descriptions of machines, by name.", add_completion=False)


@systems.callback(invoke_without_command=True)
def _systems(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@systems.command("list")
def list_systems(*, form: FormatOption = "text") -> None:
    """List the machines."""
    from batchlab.platform.machines import MACHINES  # noqa: PLC0415  # --help does without
    from batchlab.system import machines, read_system  # noqa: PLC0415

    described = [(machine, read_system(machine.path)) for machine in machines.entries()]
    platforms = {f"platform:{name}": machine for name, machine in MACHINES.items()}
    if form == "json":
        rows = [_row(machine, system) for machine, system in described]
        rows += [_platform_row(name, ready) for name, ready in platforms.items()]
        typer.echo(as_json(rows))
        return
    machines_listed = [("machine", "nodes", "cores", "queues", "")]
    for machine, system in described:
        sizes = f"{system.nodes:,}", f"{system.processors:,}", str(len(system.queues) or "")
        machines_listed.append((machine.name, *sizes, machine.summary))
    platforms_listed = [("platform", "nodes", "cores", "on which applications send messages")]
    for name, ready in platforms.items():
        nodes = ready.topology.nodes or 0
        sizes_of_platform = f"{nodes:,}", f"{nodes * ready.cores:,}"
        platforms_listed.append((name, *sizes_of_platform, described_topology(ready.topology)))
    print_blocks(
        Table(machines_listed, prose=True),
        Table(platforms_listed, prose=True),
        Facts(
            [
                ("to run one", "batchlab run TRACE --system NAME"),
                ("to change one", "batchlab systems show NAME > my.toml"),
            ]
        ),
    )


@systems.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="As in the list.")]) -> None:
    """Print a machine's description, with its sources: a file for --system."""
    from batchlab.system import machines  # noqa: PLC0415  # --help does without

    typer.echo(machines.find(name).text, nl=False)


def _platform_row(name: str, machine: PlatformMachine) -> dict[str, object]:
    nodes = machine.topology.nodes or 0
    return {
        "name": name,
        "summary": machine.summary,
        "nodes": nodes,
        "processors": nodes * machine.cores,
        "sources": [machine.source],
        "notes": machine.notes,
    }


def _row(machine: Machine, system: System) -> dict[str, object]:
    return {
        "name": machine.name,
        "summary": machine.summary,
        "nodes": system.nodes,
        "processors": system.processors,
        "partitions": [partition.name for partition in system.partitions],
        "queues": [queue.name for queue in system.queues],
        "qos": [quality.name for quality in system.qos],
        "sources": machine.sources,
        "notes": machine.notes,
    }
