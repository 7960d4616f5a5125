"""``batchlab systems``: ready descriptions of machines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.options import FormatOption  # noqa: TC001  # typer reads the annotations
from batchlab.cli.output import as_json
from batchlab.cli.platform import described_topology

if TYPE_CHECKING:
    from batchlab.platform.machines import Machine as PlatformMachine
    from batchlab.system import System
    from batchlab.system.machines import Machine

__all__ = ["systems"]

systems = typer.Typer(help="Ready descriptions of machines, by name.", add_completion=False)

_LINE = "{:16}  {:>6}  {:>7}  {:>6}  {}"
_PLATFORM_LINE = "{:22}  {:>6,}  {:>9,}  {}"


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
    typer.echo(_LINE.format("name", "nodes", "cores", "queues", "machine"))
    for machine, system in described:
        sizes = f"{system.nodes:,}", f"{system.processors:,}"
        typer.echo(_LINE.format(machine.name, *sizes, len(system.queues) or "", machine.summary))
    typer.echo("\nPlatforms, on which applications send messages:")
    for name, ready in platforms.items():
        nodes = ready.topology.nodes or 0
        typer.echo(
            _PLATFORM_LINE.format(name, nodes, nodes * ready.cores, described_topology(ready.topology))
        )
    typer.echo("\nTo run one: batchlab run TRACE --system NAME")
    typer.echo("To change one: batchlab systems show NAME > my.toml")


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
