"""``batchlab platform``: show the contents of a platform file."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import SEVERAL_VALUES
from batchlab.cli.options import FormatOption  # noqa: TC001  # typer reads the annotations
from batchlab.cli.output import as_json
from batchlab.core.units import format_latency, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.platform import Cluster, Host, Link, Platform, Topology, Way, Zone

__all__ = ["described_topology", "platform"]

_OTHER_ROLES = {"storage": "storage", "burst_buffer": "burst buffers", "batch": "batch system"}
_LINE = "{:14}{}"
_MOST_LINKS = 8


def _two_hosts(route: tuple[str, str] | None) -> tuple[str, str] | None:
    """Raise if an option is in the place of the second host; for options."""
    if route is not None and route[1].startswith("--"):
        raise typer.BadParameter(f"{route[0]}; {SEVERAL_VALUES['--route']}")
    return route


def platform(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="SimGrid's XML, or batchlab's TOML; - for standard input."),
    ],
    *,
    route: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="SOURCE TARGET",
            callback=_two_hosts,
            help="Show the way between two hosts, as --route node0 node1.",
        ),
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Show the hosts, links and zones of a platform file, or a route on it."""
    from batchlab.cli.spooled import spooled  # noqa: PLC0415  # --help does without
    from batchlab.platform import read_platform  # noqa: PLC0415  # as above

    described = read_platform(spooled(file, "'FILE'"))
    way = None if route is None else described.route(*route)
    if form == "json":
        typer.echo(as_json(_document(described, way)))
        return
    lines = _summary(described) if route is None or way is None else _route(described, *route, way)
    for line in lines:
        typer.echo(line.rstrip())


def _document(described: Platform, way: Way | None) -> dict[str, object]:
    if way is not None:
        return way._asdict()
    hosts = [
        {each.name: getattr(host, each.name) for each in fields(host)}
        | {"disk": host.disk and asdict(host.disk), "properties": dict(host.properties)}
        for host in described.hosts
    ]
    return {"name": described.name, "hosts": hosts, "links": [asdict(link) for link in described.links]}


def _summary(described: Platform) -> Iterator[str]:
    yield str(described)
    yield ""
    kinds = Counter(_like(host) for host in described.nodes)
    for number, (lines, count) in enumerate(kinds.items()):
        yield _LINE.format("" if number else "nodes", f"{count} × {lines[0]}")
        yield from (_LINE.format("", line) for line in lines[1:])
    for role, title in _OTHER_ROLES.items():
        names = [host.name for host in described.hosts if host.role == role]
        if names:
            yield _LINE.format(title, _some(names))
    alike = Counter(_speed(link) for link in described.links).most_common()
    for number, (like, count) in enumerate(alike[:_MOST_LINKS]):
        yield _LINE.format("" if number else "links", f"{count} × {like}")
    if len(alike) > _MOST_LINKS:
        yield _LINE.format("", f"and {len(alike) - _MOST_LINKS} other kinds")
    yield ""
    yield from _tree(described.root, 0)


def _like(host: Host) -> tuple[str, ...]:
    """Describe a host, one line per part."""
    cores = "1 core" if host.cores == 1 else f"{host.cores} cores"
    parts = [f"{cores} at {format_rate(host.speed, 'flop/s')}"]
    if host.gpus:
        between = f", {format_rate(host.gpu_bandwidth, 'B/s')} between them" if host.gpu_bandwidth else ""
        gpus = "1 GPU" if host.gpus == 1 else f"{host.gpus} GPUs"
        parts.append(f"{gpus} at {format_rate(host.gpu_speed, 'flop/s')}{between}")
    if host.disk is not None:
        reading, writing = (format_rate(each, "B/s") for each in (host.disk.read, host.disk.write))
        striped = "" if host.striping is None else ", striped over the nodes of a job"
        parts.append(f"burst buffer: reads {reading}, writes {writing}{striped}")
    return tuple(parts)


def _speed(link: Link) -> str:
    shared = ", not shared by flows" if link.sharing == "fat_pipe" else ""
    return f"{format_rate(link.bandwidth, 'B/s')}, {format_latency(link.latency)}{shared}"


def _tree(zone: Zone | Cluster, depth: int) -> Iterator[str]:
    from batchlab.platform import Cluster  # noqa: PLC0415  # --help does without

    title = "  " * depth + zone.name
    if isinstance(zone, Cluster):
        names = [f"{zone.prefix}{number}{zone.suffix}" for number in zone.numbers]
        yield f"{title}  {described_topology(zone.topology)} of {_some(names)}"
        return
    routes = f", {len(zone.routes)} given" if zone.routes else ""
    hosts = f": {_some([host.name for host in zone.hosts])}" if zone.hosts else ""
    yield f"{title}  {zone.routing} routes{routes}{hosts}"
    for member in zone.members:
        yield from _tree(member, depth + 1)


def described_topology(topology: Topology) -> str:
    """Describe the topology of a cluster."""
    from batchlab.platform import Dragonfly, FatTree, Torus  # noqa: PLC0415  # --help does without

    match topology:
        case FatTree(down, up, cables):
            levels = "; ".join("·".join(map(str, each)) for each in (down, up, cables))
            return f"fat tree ({levels})"
        case Torus(dimensions):
            return f"torus ({' × '.join(map(str, dimensions))})"
        case Dragonfly():
            sizes = topology.groups, topology.chassis, topology.blades, topology.nodes_per_blade
            return f"dragonfly ({' × '.join(map(str, sizes))})"
        case _:
            return "crossbar" if getattr(topology, "backbone", None) is None else "crossbar with a backbone"


def _some(names: list[str]) -> str:
    """List a few names and the number of all."""
    if len(names) <= 4:  # noqa: PLR2004  # so many still fit
        return ", ".join(names)
    return f"{len(names)} hosts, {names[0]}, {names[1]} … {names[-1]}"


def _route(described: Platform, source: str, target: str, way: Way) -> Iterator[str]:
    links = {link.name: link for link in described.links}
    narrowest = min((links[name].bandwidth for name in way.links), default=None)
    at_most = "" if narrowest is None else f", {format_rate(narrowest, 'B/s')} at most"
    yield f"{source} → {target}: {format_latency(way.latency)}{at_most}"
    width = max((len(name) for name in way.links), default=0)
    for name in way.links:
        yield f"  {name:{width}}  {_speed(links[name])}"
