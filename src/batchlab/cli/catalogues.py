"""Commands that list and show what is ready: policies, platforms, systems and traces."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path  # typer reads the annotations  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import SEVERAL_VALUES
from batchlab.cli.options import FormatOption, complete_example  # typer reads the annotations
from batchlab.cli.output import as_json, print_blocks, transfer_bar
from batchlab.core.late import cli_spooled, platform_presets, policy
from batchlab.core.late import platform as batchlab_platform
from batchlab.core.late import system as batchlab_system
from batchlab.core.late import system_machines as machines
from batchlab.core.late import trace_catalogue as catalogue
from batchlab.core.late import trace_traces as library
from batchlab.core.late import workload_mappings_catalogue as mapping_catalogue
from batchlab.core.text_tables import Facts, Table
from batchlab.core.units import format_count, format_latency, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.platform import Cluster, Host, Link, Platform, Topology, Way, Zone
    from batchlab.platform.presets import Machine as PlatformMachine
    from batchlab.policy import Rule
    from batchlab.system import System
    from batchlab.system.machines import Machine
    from batchlab.trace.catalogue import Trace


__all__ = ["EXAMPLES", "platform", "policies", "systems", "traces"]


_WHAT = "A policy is an order or a backfilling rule, with what differs from the usual in parentheses"

EXAMPLES = {
    "easy": "first come, first served, with EASY backfilling",
    "sjf": "shortest job first, without backfilling",
    "easy(order=sjf, allocator=best_fit)": "",
    "easy(reservations=3)": "",
    "easy(predictor=last_two)": "",
    "fcfs(backfill=first_fit)": "",
    "random(7)": "",
    "configured": "what slurm.conf says, if it is the system; slurm(…) replaces single parameters",
    "server_filling": "preemptive: keeps servers busy with the widest of the first jobs",
    "malleable(order=srtf)": "",
    'expression("requested_time * tasks - wait_time")': "",
}


def policies() -> None:
    """List the orders, backfilling rules, disciplines, allocators and predictors."""
    tables = {
        _WHAT: EXAMPLES,
        "Orders": _summaries(policy.ORDERS),
        "Backfilling rules": _summaries(policy.BACKFILLS),
        "Disciplines, which select among running and waiting jobs": _summaries(policy.DISCIPLINES),
        "Schedulers of their own kind": _summaries(policy.SCHEDULERS),
        "Allocators": _summaries(policy.ALLOCATORS),
        "Predictors": _summaries(policy.PREDICTORS),
    }
    print_blocks(*(Facts([*rows.items()], title) for title, rows in tables.items()))


def _summaries(rules: Mapping[str, Rule]) -> dict[str, str]:
    return {name: rule.summary for name, rule in rules.items()}


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
        typer.Argument(
            metavar="FILE", help="Platform file (SimGrid XML or batchlab TOML); - for standard input."
        ),
    ],
    *,
    route: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="SOURCE TARGET",
            callback=_two_hosts,
            help="Show the route between two hosts: --route node0 node1.",
        ),
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Show the hosts, links and zones of a platform file, or a route on it."""
    described = batchlab_platform.read_platform(cli_spooled.spooled(file, "'FILE'"))
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
    cores = format_count(host.cores, "core")
    parts = [f"{cores} at {format_rate(host.speed, 'flop/s')}"]
    if host.gpus:
        between = f", {format_rate(host.gpu_bandwidth, 'B/s')} between them" if host.gpu_bandwidth else ""
        gpus = format_count(host.gpus, "GPU")
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

    title = "  " * depth + zone.name
    if isinstance(zone, batchlab_platform.Cluster):
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
    match topology:
        case batchlab_platform.FatTree(down, up, cables):
            levels = "; ".join("·".join(map(str, each)) for each in (down, up, cables))
            return f"fat tree ({levels})"
        case batchlab_platform.Torus(dimensions):
            return f"torus ({' × '.join(map(str, dimensions))})"
        case batchlab_platform.Dragonfly():
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


systems = typer.Typer(help="List and show ready machine descriptions.", add_completion=False)


@systems.callback(invoke_without_command=True)
def _systems(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@systems.command("list")
def list_systems(*, form: FormatOption = "text") -> None:
    """List the ready machines."""
    described = [(machine, batchlab_system.read_system(machine.path)) for machine in machines.entries()]
    platforms = {f"platform:{name}": machine for name, machine in platform_presets.MACHINES.items()}
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


@systems.command("show")
def show_system(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a machine; see batchlab systems list.")
    ],
) -> None:
    """Print a machine description, a file for --system, with its sources."""
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


traces = typer.Typer(
    help="List and fetch logs of the Parallel Workloads Archive; list data sets; find examples.",
    add_completion=False,
)

_OF_SETS = ("name", "summary", "good_for", "source", "licence", "machine")
_NOTES = """
✓ was fetched. For another: batchlab traces fetch NAME; the beginning of a name will do.
Where something is missing, the catalogue does not know it; the log's own header may."""
_SETS = """
Files of these are known by their columns, or by --mapping NAME. For sources: batchlab traces show NAME."""
_Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        envvar="BATCHLAB_CACHE",
        file_okay=False,
        help="Directory of fetched logs. [default: batchlab/traces in the user's cache]",
    ),
]


@traces.callback(invoke_without_command=True)
def _traces(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@traces.command("list")
def list_traces(
    *,
    cache: _Cache = None,
    form: FormatOption = "text",
) -> None:
    """List the logs (fetched ones are marked) and the data sets with a mapping."""
    fetched = {trace.name: library.is_fetched(trace, cache=cache) for trace in catalogue.entries()}
    if form == "json":
        rows = [
            {**asdict(trace), "page": trace.page, "fetched": fetched[trace.name]}
            for trace in catalogue.entries()
        ]
        typer.echo(as_json(rows + _data_sets()))
        return
    listed = [("", "name", "years", "jobs", "nodes × cores", "computer")]
    for trace in catalogue.entries():
        jobs = "" if trace.jobs is None else f"{trace.jobs:,}"
        mark = "✓" if fetched[trace.name] else ""
        listed.append((mark, trace.name, _years(trace), jobs, _size(trace), trace.computer))
    sets = [("data set", "what it is", "good for")]
    sets += [(each["name"], each["summary"], each["good_for"]) for each in _data_sets()]
    print_blocks(Table(listed, _NOTES, labels=3, prose=True), Table(sets, _SETS, labels=2, prose=True))


def _data_sets() -> list[dict[str, str]]:
    """Describe the data sets with a mapping."""
    return [{key: getattr(mapping, key) for key in _OF_SETS} for mapping in mapping_catalogue.entries()]


@traces.command("show")
def show_trace(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a data set; see batchlab traces list.")
    ],
    *,
    text: Annotated[
        bool, typer.Option("--toml", help="Print the mapping, as a template for your own.")
    ] = False,
) -> None:
    """Show a data set: description, sources, and the meaning of its columns."""
    mapping = mapping_catalogue.mapping_named(name)
    if text:
        typer.echo(mapping_catalogue.text_of(mapping), nl=False)
        return
    facts = [(key.replace("_", " "), getattr(mapping, key)) for key in _OF_SETS if getattr(mapping, key)]
    held = ", ".join(f"{role} ({' or '.join(column.column)})" for (_, role), column in mapping.described())
    print_blocks(Facts([*facts, ("columns", held or "as in its log")]))


@traces.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME…", help="Names of logs, or unique beginnings; see batchlab traces list."
        ),
    ],
    *,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="BATCHLAB_MIRROR",
            help="Mirror of the archive: an address or a directory.",
        ),
    ] = None,
    cache: _Cache = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Accept the file with any checksum, and expect this checksum from now on."
        ),
    ] = False,
) -> None:
    """Fetch logs, and verify their checksums."""
    found = [library.find(name) for name in names]
    for trace in found:
        with transfer_bar(trace.name) as progress:
            path = library.fetch(trace.name, mirror=mirror, cache=cache, trust=trust, progress=progress)
        typer.echo(str(path))
    thanks = dict.fromkeys(trace.thanks for trace in found if trace.thanks)
    typer.echo(f"{library.TERMS}\nCite: {library.CITATION}.", err=True)
    if thanks:
        typer.echo(f"Thank: {', '.join(thanks)}.", err=True)


@traces.command()
def example(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", autocompletion=complete_example, help="Name of the example: slurm."),
    ],
) -> None:
    """Print the directory of an example of the package, with its log and configuration."""
    typer.echo(str(library.example(name)))


def _years(trace: Trace) -> str:
    first, last = trace.first[:4], (trace.last or "")[:4]
    return f"{first}–{last}" if last not in ("", first) else first


def _size(trace: Trace) -> str:
    if trace.nodes is not None:
        return f"{trace.nodes:,} × {trace.cores}"
    return "" if trace.processors is None else f"{trace.processors:,} in all"
