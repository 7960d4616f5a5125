"""Nodes of ``slurm.conf`` and ``gres.conf``, and the switches of ``topology.conf``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from batchlab.errors import one_line, shown, suggest
from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.settings import Settings, parse
from batchlab.slurm.configuration.values import (
    KINDS,
    Mended,
    Place,
    amount,
    host_names,
    lines_of,
    refuse,
    separated,
)
from batchlab.workload.logs.node_events import hosts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from batchlab.slurm.configuration.settings import Setting, UnknownKey

__all__ = [
    "DeviceLine",
    "DownNodes",
    "GenericResource",
    "NodeLine",
    "NodeSet",
    "Switch",
    "Topology",
    "check_topology",
    "down_nodes",
    "node_line",
    "node_set",
    "read_devices",
    "read_topology",
]


@dataclass(frozen=True)
class Switch:
    """A switch with its nodes or child switches; or a block with its nodes."""

    name: str
    place: Place
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    """The contents of a ``topology.conf``.

    Attributes
    ----------
    switches, blocks
        In the order of the file.
    block_sizes
        The block sizes for the placement of jobs.
    """

    switches: tuple[Switch, ...] = ()
    blocks: tuple[Switch, ...] = ()
    block_sizes: tuple[int, ...] = ()


def read_topology(file: str, unknown: list[UnknownKey] | None) -> tuple[Topology, list[Setting]]:
    """Parse a ``topology.conf``.

    Raises
    ------
    SystemDescriptionError
        If a line is invalid, or a name is used twice.
    """
    table = key_table("topology")
    given: list[Setting] = []
    switches: list[Switch] = []
    blocks: list[Switch] = []
    sizes: tuple[int, ...] = ()
    for place, line in lines_of(file):
        settings = Settings(table, parse(line, place, table, line.split(maxsplit=1)[0], unknown))
        given += settings.given
        listed = settings.find("BlockSizes")
        if listed is not None:
            sizes = listed.take(_sizes)
        for key, found in (("SwitchName", switches), ("BlockName", blocks)):
            named = settings.find(key)
            if named is not None:
                found.append(_switch(named, settings))
    for found in (switches, blocks):
        _check_names(found)
    return Topology(tuple(switches), tuple(blocks), sizes), given


def check_topology(topology: Topology, nodes: Collection[str]) -> tuple[Topology, list[Mended]]:
    """Check that child switches exist, and remove unknown nodes.

    Returns
    -------
    tuple
        The topology, and messages on nodes that are not in ``slurm.conf``, which Slurm also removes.

    Raises
    ------
    SystemDescriptionError
        If a switch is unknown.
    """
    known = {switch.name for switch in topology.switches}
    mended: list[Mended] = []

    def there(switch: Switch) -> Switch:
        for name in switch.switches:
            if name not in known:
                refuse(switch.place, f"Switches: {one_line(name)} is no switch.{suggest(name, known)}")
        missing = [name for name in switch.nodes if name not in nodes]
        if not missing:
            return switch
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        rule = "no nodes of slurm.conf; Slurm leaves them out"
        says = f"{one_line(switch.name)}: {one_line(missing[0])}{more}: {rule}"
        mended.append(Mended(switch.place, says))
        return replace(switch, nodes=tuple(name for name in switch.nodes if name in nodes))

    switches, blocks = (tuple(map(there, each)) for each in (topology.switches, topology.blocks))
    return Topology(switches, blocks, topology.block_sizes), mended


def _switch(named: Setting, settings: Settings) -> Switch:
    nodes, switches = settings.find("Nodes"), settings.find("Switches")
    if nodes is not None and switches is not None:
        refuse(named.place, f"{named.written}={one_line(named.value)} has Nodes and Switches; must have one.")
    return Switch(
        name=named.value,
        place=named.place,
        nodes=() if nodes is None else nodes.take(host_names),
        switches=() if switches is None else switches.take(host_names),
    )


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < len("65536") + 1 for part in parts):
        raise ValueError("must be numbers of nodes, as 16,32")
    return tuple(int(part) for part in parts)


def _check_names(switches: Sequence[Switch]) -> None:
    places: dict[str, Place] = {}
    for switch in switches:
        if switch.name in places:
            refuse(switch.place, f"{shown(switch.name)} is also at {places[switch.name]}; must be unique.")
        places[switch.name] = switch.place


_COUNT = re.compile(r"\d.*")
_OF_SOCKETS = re.compile(r"\(S:[^)]*\)$")
_CPU_LIMIT = 1 << 16


@dataclass(frozen=True)
class GenericResource:
    """An amount of a generic resource on a node: ``gpu:tesla:2``.

    Attributes
    ----------
    name
        For example ``gpu``.
    count
        The amount; in bytes if the file uses K, M or G.
    type
        For example ``tesla``; empty without a type.
    consumed
        Whether the amount allocated to a job is unavailable to others.
    """

    name: str
    count: int
    type: str = ""
    consumed: bool = True


@dataclass(frozen=True)
class NodeLine:
    """The nodes of one line, which are equal.

    Attributes
    ----------
    expression
        The names as written, as ``n[1-32]``.
    names
        The names, in their order.
    place
        The position of the line.
    cpus
        CPUs per node: cores, or threads if cores have several.
    boards, sockets, cores_per_socket, threads_per_core
        The layout; `sockets` is the total of the node.
    memory
        MiB; None if not set.
    reserved_cpus, reserved_memory
        CPUs and MiB that are reserved for the system.
    features
        Features that jobs may request.
    gres
        Generic resources.
    weight
        Nodes with the least weight are allocated first.
    state
        In upper case: ``UNKNOWN`` for nodes in service.
    temporary_disk
        MiB.
    mended
        Corrections that Slurm makes with a message; empty without any.
    """

    expression: str
    names: tuple[str, ...]
    place: Place
    cpus: int = 1
    boards: int = 1
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    memory: int | None = None
    reserved_cpus: int = 0
    reserved_memory: int = 0
    features: tuple[str, ...] = ()
    gres: tuple[GenericResource, ...] = ()
    weight: int = 1
    state: str = "UNKNOWN"
    temporary_disk: int = 0
    mended: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeSet:
    """A named set of nodes for partitions: listed nodes, and nodes with a feature."""

    name: str
    place: Place
    nodes: str = ""
    feature: str = ""


@dataclass(frozen=True)
class DownNodes:
    """Nodes that are out of service."""

    names: tuple[str, ...]
    state: str
    place: Place


@dataclass
class _Layout:
    """The CPU layout of a node, and the corrections made."""

    cpus: int = 1
    boards: int = 1
    sockets: int = 1
    cores: int = 1
    threads: int = 1
    mended: list[str] = field(default_factory=list)


def node_line(settings: Settings) -> NodeLine:
    """Parse a node line; missing keys have the values of the DEFAULT line.

    Raises
    ------
    SystemDescriptionError
        If the names or a number are invalid.
    """
    named = _required(settings, "NodeName")
    layout = _layout(settings)
    reserved = len(settings.value(KINDS["ranges"], "CpuSpecList") or ())  # type: ignore[arg-type]
    cores = settings.whole("CoreSpecCount") or 0
    if cores >= layout.sockets * layout.cores:
        cores = 1
        layout.mended.append("CoreSpecCount is not below the number of cores; Slurm takes 1")
    memory = settings.whole("RealMemory") if settings.find("RealMemory") else None
    kept = settings.whole("MemSpecLimit") or 0
    if kept and kept >= (memory or 1):
        kept = 0
        layout.mended.append("MemSpecLimit is not below RealMemory; Slurm takes 0")
    per_core = max(layout.cpus // (layout.sockets * layout.cores), 1)
    return NodeLine(
        expression=named.value,
        names=named.take(host_names),
        place=named.place,
        cpus=layout.cpus,
        boards=layout.boards,
        sockets=layout.sockets,
        cores_per_socket=layout.cores,
        threads_per_core=layout.threads,
        memory=memory,
        reserved_cpus=min(max(reserved, cores * per_core), layout.cpus - 1),
        reserved_memory=kept,
        features=settings.names("Features", "Feature"),
        gres=_resources(settings.find("Gres")),
        weight=1 if (weight := settings.whole("Weight")) is None else weight,
        state=(settings.text("State") or "UNKNOWN").upper(),
        temporary_disk=settings.whole("TmpDisk") or 0,
        mended=tuple(layout.mended),
    )


def node_set(settings: Settings) -> NodeSet:
    """Parse a line of a node set."""
    named = _required(settings, "NodeSet")
    return NodeSet(named.value, named.place, settings.text("Nodes") or "", settings.text("Feature") or "")


def down_nodes(settings: Settings) -> DownNodes:
    """Parse a line of nodes that are out of service."""
    named = _required(settings, "DownNodes")
    return DownNodes(named.take(host_names), (settings.text("State") or "DOWN").upper(), named.place)


def _required(settings: Settings, name: str) -> Setting:
    found = settings.find(name)
    if found is None or not found.value.strip():
        place = settings.given[0].place
        refuse(place, f"{name} is empty; must be a name, as {name}=n1. Take the line out, or name it.")
    return found


def _layout(settings: Settings) -> _Layout:
    """Return boards, sockets, cores, threads and CPUs, completed and corrected as in Slurm."""
    layout = _Layout(
        boards=_one(settings, "Boards"),
        cores=_one(settings, "CoresPerSocket"),
        threads=_one(settings, "ThreadsPerCore"),
    )
    cpus = _one(settings, "CPUs", "Procs") if settings.find("CPUs", "Procs") else None
    per_socket = layout.cores * layout.threads
    if settings.find("SocketsPerBoard"):
        layout.sockets = layout.boards * _one(settings, "SocketsPerBoard")
        if settings.find("Sockets"):
            layout.mended.append("Sockets and SocketsPerBoard are both given; Slurm takes SocketsPerBoard")
    elif settings.find("Sockets"):
        layout.sockets = _one(settings, "Sockets")
    elif cpus is not None and cpus >= per_socket and cpus % per_socket == 0:
        layout.sockets = cpus // per_socket
    else:
        layout.sockets = layout.boards
    if layout.sockets < layout.boards:
        layout.mended.append("there are fewer sockets than boards; Slurm takes one board")
        layout.boards = 1
    product = layout.sockets * per_socket
    layout.cpus = product if cpus is None else cpus
    if layout.cpus not in {layout.sockets, layout.sockets * layout.cores, product}:
        layout.mended.append(
            f"CPUs={layout.cpus} is no number of sockets, cores or threads; Slurm takes {product}"
        )
        layout.cpus = product
    if layout.cpus >= _CPU_LIMIT:
        refuse(settings.given[0].place, f"a node has {layout.cpus} CPUs; must be below {_CPU_LIMIT:,}.")
    return layout


def _one(settings: Settings, *names: str) -> int:
    """Return a count for which Slurm's default is one."""
    given, found = settings.whole(*names), settings.find(*names)
    if given is None and found is not None:
        refuse(found.place, f"{found.written} = {found.value}; must be a number below {_CPU_LIMIT:,}.")
    if given is not None and given >= _CPU_LIMIT:
        found = settings.find(*names) or settings.given[0]
        refuse(found.place, f"{found.written} = {given}; must be below {_CPU_LIMIT:,}.")
    return given or 1


def _resources(setting: Setting | None) -> tuple[GenericResource, ...]:
    if setting is None:
        return ()
    return tuple(_resource(part, setting) for part in separated(setting.value))


def _resource(text: str, setting: Setting) -> GenericResource:
    name, *parts = (part.strip() for part in _OF_SOCKETS.sub("", text).split(":"))
    consumed = "no_consume" not in parts
    parts = [part for part in parts if part != "no_consume"]
    count = parts.pop() if parts and _COUNT.fullmatch(parts[-1]) else "1"
    if not name or len(parts) > 1:
        rule = "must be name:count or name:type:count, as gpu:tesla:4. Separate several by commas."
        refuse(setting.place, f"{setting.written}: {one_line(text)}; {rule}")
    try:
        return GenericResource(name.lower(), amount(count), parts[0] if parts else "", consumed)
    except ValueError as broken:
        refuse(setting.place, f"{setting.written}: {one_line(text)}; {broken}.")


_MOST_FILES = 1024


@dataclass(frozen=True)
class DeviceLine:
    """The devices of one line.

    Attributes
    ----------
    name
        For example ``gpu``; empty if the line only configures the detection of devices.
    place
        The position of the line.
    nodes
        The nodes that have the devices; None for all nodes with such a resource.
    type
        For example ``tesla``; empty without a type.
    count
        Number of devices per node in this line.
    files
        The device files; empty if not set.
    cores
        The cores close to the devices; None if not set.
    detected
        The method of automatic detection, in lower case: ``nvml``; empty without detection.
    """

    name: str
    place: Place
    nodes: tuple[str, ...] | None = None
    type: str = ""
    count: int = 1
    files: tuple[str, ...] = ()
    cores: tuple[int, ...] | None = None
    detected: str = ""


def read_devices(file: str, unknown: list[UnknownKey] | None) -> tuple[tuple[DeviceLine, ...], list[Setting]]:
    """Parse a ``gres.conf``.

    Raises
    ------
    SystemDescriptionError
        If a line or a value is invalid.
    """
    table = key_table("gres")
    given: list[Setting] = []
    found: list[DeviceLine] = []
    for place, line in lines_of(file):
        settings = Settings(table, parse(line, place, table, line.split(maxsplit=1)[0], unknown))
        given += settings.given
        found.append(_line(settings, place))
    return tuple(found), given


def _line(settings: Settings, place: Place) -> DeviceLine:
    nodes = settings.find("NodeName")
    device = settings.find("File", "Files", "MultipleFiles")
    files = () if device is None else device.take(_files)
    single = settings.find("MultipleFiles") is not None
    number = settings.find("Count")
    cores = settings.find("Cores", "CPUs")
    detected = (settings.text("AutoDetect") or "").lower()
    return DeviceLine(
        name=(settings.text("Name") or "").lower(),
        place=place,
        nodes=None if nodes is None else nodes.take(host_names),
        type=settings.text("Type") or "",
        count=number.take(amount) if number else 1 if single or not files else len(files),
        files=files,
        cores=None if cores is None else cores.take(KINDS["ranges"]),  # type: ignore[arg-type]
        detected="" if detected == "off" else detected,
    )


def _files(text: str) -> tuple[str, ...]:
    found = hosts(text, most=_MOST_FILES)
    if found is None:
        raise ValueError(f"must be device files, as /dev/nvidia[0-3], of at most {_MOST_FILES:,}")
    return tuple(found)
