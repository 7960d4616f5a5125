"""Read platforms in SimGrid's XML, versions 4 and 4.1, with ElastiSim's properties.

Supported are zones (``zone``, or ``AS`` in older files) with the routings Full, None, Floyd, Dijkstra,
DijkstraCache and Cluster; in zones ``host`` (with ``disk``), ``router``, ``link``, ``cluster`` with every
topology, ``host_link``, ``backbone``, ``cabinet``, ``route`` and ``zoneRoute``; and ``prop``. Elements for
deployments, profiles over time, coordinates and bypasses are refused by name. Properties of zones, links and
disks are ignored; those of hosts are ElastiSim's, and an additional one:

| property | meaning |
|---|---|
| `batch_system` | true: the host runs the batch system, and no job |
| `pfs_host` | true: the host is an end point of the parallel file system |
| `pfs_targets` | comma-separated names of such hosts: the destinations of this host's traffic |
| `num_gpus`, `flops_per_gpu`, `gpu_to_gpu_bw` | GPUs per node; as ElastiSim does, fractions are cut off |
| `node_local_bb`, `bb_read_bw`, `bb_write_bw` | true: the node has a burst buffer with these bandwidths |
| `wide_striping`, `flops_per_byte` | true: burst buffers are striped over a job's nodes, at this cost |
| `burst_buffer_host` | true: the host is a burst buffer shared by all nodes (batchlab only) |

All other properties are kept unchanged.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.parts import (
    LARGEST_COUNT,
    MOST_NUMBERS,
    Cluster,
    Crossbar,
    Disk,
    Dragonfly,
    FatTree,
    Host,
    Link,
    Ray,
    Route,
    Routing,
    Sharing,
    Topology,
    Torus,
    Zone,
)
from batchlab.platform.plan import MisfitError
from batchlab.platform.platform import Platform
from batchlab.platform.quantities import BANDWIDTH, SPEED, TIME, Unit
from batchlab.platform.simgrid_xml import Element, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from batchlab.platform.simgrid_xml import Element

__all__ = [
    "SHARINGS",
    "WHOLE",
    "SimgridBuilder",
    "Surroundings",
    "cluster",
    "host_fields",
    "platform",
    "surroundings",
]

_ROLES = {"batch_system": "batch", "pfs_host": "storage", "burst_buffer_host": "burst_buffer"}
_MEANT = frozenset(_ROLES) | {
    *("pfs_targets", "num_gpus", "flops_per_gpu", "gpu_to_gpu_bw", "node_local_bb", "bb_read_bw"),
    *("bb_write_bw", "wide_striping", "flops_per_byte"),
}


class _Broken(Exception):  # noqa: N818  # caught in this module
    """A property breaks a rule."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(name, rule)
        self.problem = name, rule


def host_fields(
    properties: Mapping[str, str], disk: Disk | None
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Convert properties to fields of a `Host`.

    Parameters
    ----------
    properties
        The properties by name.
    disk
        The disk of the host, if any.

    Returns
    -------
    tuple
        The fields and None; if a property breaks a rule, an empty dictionary, and its name with the rule.
    """
    try:
        fields: dict[str, Any] = {**_gpus(properties), **_burst_buffer(properties, disk)}
        fields["role"] = _role(properties)
    except _Broken as broken:
        return {}, broken.problem
    if "pfs_targets" in properties:
        targets = (name.strip() for name in properties["pfs_targets"].split(","))
        fields["storage_targets"] = tuple(name for name in targets if name)
    fields["properties"] = {name: text for name, text in properties.items() if name not in _MEANT}
    return fields, None


def _role(properties: Mapping[str, str]) -> str:
    roles = [name for name in _ROLES if _is_true(properties, name)]
    if len(roles) > 1:
        raise _Broken(roles[1], f"cannot be true beside {roles[0]}; make them two hosts")
    return _ROLES[roles[0]] if roles else "compute"


def _gpus(properties: Mapping[str, str]) -> dict[str, Any]:
    text = properties.get("num_gpus", "0").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):  # noqa: PLR2004  # below 10^9
        raise _Broken("num_gpus", f"= {shown(text)}; must be a whole number")
    gpus = int(text)
    if gpus == 0:
        return {}
    fields: dict[str, Any] = {
        "gpus": gpus,
        "gpu_speed": math.trunc(_needed(properties, "flops_per_gpu", SPEED)),
    }
    if gpus > 1:
        fields["gpu_bandwidth"] = math.trunc(_needed(properties, "gpu_to_gpu_bw", BANDWIDTH))
    return fields


def _burst_buffer(properties: Mapping[str, str], disk: Disk | None) -> dict[str, Any]:
    if not _is_true(properties, "node_local_bb"):
        return {"disk": disk}
    if disk is not None:
        raise _Broken("node_local_bb", "is true, but the host has a disk; keep one of them")
    read, write = (_needed(properties, name, BANDWIDTH) for name in ("bb_read_bw", "bb_write_bw"))
    try:
        fields: dict[str, Any] = {"disk": Disk(read, write)}
    except PlatformError as error:
        raise _Broken("node_local_bb", f"makes no disk: {str(error).rstrip('.')}") from None
    if _is_true(properties, "wide_striping"):
        fields["striping"] = _needed(properties, "flops_per_byte", SPEED)
    return fields


def _needed(properties: Mapping[str, str], name: str, unit: Unit) -> float:
    """Parse a required quantity."""
    if name not in properties:
        raise _Broken(name, "is missing; the properties that are there need it")
    try:
        return unit.read(properties[name])
    except ValueError as broken:
        raise _Broken(name, f"= {shown(properties[name])}; {broken}") from None


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    text = properties.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise _Broken(name, f"= {shown(properties[name])}; must be true or false")
    return text == "true"


_T = TypeVar("_T")

WHOLE = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
SHARINGS: dict[str, Sharing] = {
    "SHARED": "shared",
    "FATPIPE": "fat_pipe",
    "SPLITDUPLEX": "split_duplex",
    "FULLDUPLEX": "split_duplex",
}
_FILES = ("bandwidth_file", "latency_file", "state_file", "speed_file", "availability_file")


class SimgridBuilder:
    """Creates parts from elements, and records the line of each.

    Parameters
    ----------
    name
        The name of the file in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[int, int] = {}
        self.split_links: set[str] = set()

    def refusal(self, line: int, message: str) -> PlatformError:
        """Return an error with its position."""
        return PlatformError(f"{self.name}:{line}: {message}")

    def wrong(self, element: Element, attribute: str, value: object, rule: str) -> PlatformError:
        """Return the error for an attribute."""
        end = "" if rule.endswith(".") else "."
        return self.refusal(element.line, f"{attribute} = {shown(value)}; {rule}{end}")

    def made(self, element: Element, kind: Callable[..., _T], *values: object, **named: object) -> _T:
        """Create a part, and record its line."""
        try:
            part = kind(*values, **named)
        except PlatformError as error:
            raise self.refusal(element.line, str(error)) from None
        self.lines[id(part)] = element.line
        return part

    def node_fields(self, element: Element, disk: Disk | None) -> dict[str, Any]:
        """Parse the properties of a host, or those that a cluster defines for its hosts."""
        properties = {prop.attributes["id"]: prop.attributes["value"] for prop in element.each("prop")}
        lines = {prop.attributes["id"]: prop.line for prop in element.each("prop")}
        fields, problem = host_fields(properties, disk)
        if problem is not None:
            name, rule = problem
            raise self.refusal(lines.get(name, element.line), f"property {name} {rule}.")
        return fields

    def speed(self, element: Element) -> str:
        """Return the speed of a host in its initial state."""
        speeds = element.attributes["speed"].split(",")
        state = element.attributes.get("pstate", "0").partition(".")[0]
        if not WHOLE.fullmatch(state) or int(state) >= len(speeds):
            rule = f"must be the number of one of the {len(speeds)} speeds, from 0"
            raise self.wrong(element, "pstate", state, rule)
        return speeds[int(state)].strip()

    def cores(self, element: Element) -> int:
        """Parse the number of cores."""
        return self.whole(element, "core", element.attributes.get("core", "1"))

    def whole(self, element: Element, attribute: str, text: str) -> int:
        """Parse a whole number."""
        if not WHOLE.fullmatch(text) or int(text) > LARGEST_COUNT:
            raise self.wrong(element, attribute, text, f"must be a whole number from 0 to {LARGEST_COUNT}")
        return int(text)

    def radical(self, element: Element) -> tuple[int, ...]:
        """Parse the numbers of hosts: ``"0-3,7"``."""
        text, numbers = element.attributes["radical"], list[int]()
        for part in text.split(","):
            ends = part.split("-")
            if len(ends) not in (1, 2):
                raise self.wrong(element, "radical", text, "must be like 0-3,7")
            first, last = (self.whole(element, "radical", end) for end in (ends[0], ends[-1]))
            if last < first or len(numbers) + last - first >= MOST_NUMBERS:
                rule = f"each range must go upwards, over {MOST_NUMBERS} hosts at most"
                raise self.wrong(element, "radical", text, rule)
            numbers += range(first, last + 1)
        return tuple(numbers)

    def check_files(self, element: Element) -> None:
        """Raise for profiles over time."""
        for name in _FILES:
            if element.attributes.get(name):
                rule = "profiles over time are not simulated; remove it"
                raise self.wrong(element, name, element.attributes[name], rule)

    def sharing(
        self, element: Element, attribute: str, default: str, known: dict[str, Sharing] = SHARINGS
    ) -> Sharing:
        """Parse the sharing policy of a link."""
        word = element.attributes.get(attribute, default)
        if word not in known:
            raise self.wrong(element, attribute, word, f"is not simulated.{suggest(word, known)}")
        return known[word]

    def quantity(self, element: Element, attribute: str, read: Callable[[object], float]) -> float:
        """Parse a quantity; 0 if the attribute is empty or missing."""
        text = element.attributes.get(attribute, "")
        try:
            return read(text) if text else 0.0
        except ValueError as broken:
            raise self.wrong(element, attribute, text, str(broken)) from None

    def optional_link(
        self, element: Element, prefix: str, name: str, sharing: Sharing = "shared"
    ) -> Link | None:
        """Create a link if the element has a bandwidth or a latency for it."""
        bandwidth = self.quantity(element, f"{prefix}_bw", BANDWIDTH.read)
        latency = self.quantity(element, f"{prefix}_lat", TIME.read)
        if not bandwidth and not latency:
            return None
        return self.made(element, Link, name, bandwidth, latency, sharing)


_BACKBONE_SHARINGS: dict[str, Sharing] = {"SHARED": "shared", "FATPIPE": "fat_pipe"}
_LONGEST_PARAMETERS = 1000
_FAT_TREE = 'levels, then as many numbers of children, parents and cables, like "2;4,4;1,2;1,2"'
_TORUS = 'the number of hosts along each dimension, like "4,4,4"'
_DRAGONFLY = 'groups,links;chassis,links;blades,links;nodes, like "3,4;4,3;4,1;4"'


def cluster(builder: SimgridBuilder, element: Element) -> Cluster:
    """Create a cluster."""
    given, fields = element.attributes, builder.node_fields(element, None)
    return builder.made(
        element,
        Cluster,
        given["id"],
        builder.radical(element),
        builder.made(element, Host, "", builder.speed(element), builder.cores(element), **fields),
        given["bw"],
        given["lat"],
        _topology(builder, element),
        given["prefix"],
        given["suffix"],
        builder.sharing(element, "sharing_policy", "SPLITDUPLEX"),
        builder.optional_link(element, "loopback", "loopback"),
        builder.quantity(element, "limiter_link", BANDWIDTH.read) or None,
        given.get("router_id") or None,
    )


def _topology(builder: SimgridBuilder, element: Element) -> Topology:
    makers = {"FLAT": _crossbar, "FAT_TREE": _fat_tree, "TORUS": _torus, "DRAGONFLY": _dragonfly}
    kind = element.attributes.get("topology", "FLAT")
    if kind not in makers:
        raise builder.wrong(element, "topology", kind, f"is not known.{suggest(kind, makers)}")
    # As in SimGrid, only flat clusters use a backbone, and only the others use topology parameters.
    return makers[kind](builder, element)


def _crossbar(builder: SimgridBuilder, element: Element) -> Crossbar:
    sharing = builder.sharing(element, "bb_sharing_policy", "SHARED", _BACKBONE_SHARINGS)
    return Crossbar(builder.optional_link(element, "bb", "backbone", sharing))


def _fat_tree(builder: SimgridBuilder, element: Element) -> FatTree:
    match _parameters(element):
        case [[levels], down, up, cables] if levels == len(down) == len(up) == len(cables):
            return builder.made(element, FatTree, down, up, cables)
    raise _wrong_parameters(builder, element, _FAT_TREE)


def _torus(builder: SimgridBuilder, element: Element) -> Torus:
    match _parameters(element):
        case [dimensions]:
            return builder.made(element, Torus, dimensions)
    raise _wrong_parameters(builder, element, _TORUS)


def _dragonfly(builder: SimgridBuilder, element: Element) -> Dragonfly:
    match _parameters(element):
        case [[groups, blue], [chassis, black], [blades, green], [nodes]]:
            return builder.made(element, Dragonfly, groups, chassis, blades, nodes, blue, black, green)
    raise _wrong_parameters(builder, element, _DRAGONFLY)


def _parameters(element: Element) -> list[list[int]]:
    """Parse lists of numbers, like ``"2;4,4;1,2;1,2"``; empty if the text is invalid."""
    text = element.attributes.get("topo_parameters", "")
    lists = [each.split(",") for each in text[:_LONGEST_PARAMETERS].split(";")]
    if len(text) > _LONGEST_PARAMETERS or not all(WHOLE.fullmatch(each) for row in lists for each in row):
        return []
    return [[int(each) for each in row] for row in lists]


def _wrong_parameters(builder: SimgridBuilder, element: Element, form: str) -> Exception:
    text = element.attributes.get("topo_parameters", "")
    return builder.wrong(element, "topo_parameters", text, f"must be {form}")


@dataclass
class Surroundings:
    """Hosts, links and rays around the centre of a star."""

    hosts: list[Host] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    rays: list[Ray] = field(default_factory=list)


def surroundings(builder: SimgridBuilder, zone: Element) -> Surroundings:
    """Create the cabinets of a zone, the links of its hosts, and the shared backbone."""
    around, backbones = Surroundings(), zone.each("backbone")
    if len(backbones) > 1:
        raise builder.refusal(backbones[1].line, "a zone has one <backbone> at most; remove the others.")
    for each in backbones:
        given = each.attributes
        around.links.append(builder.made(each, Link, given["id"], given["bandwidth"], given["latency"]))
    backbone = tuple(link.name for link in around.links)
    for each in zone.each("host_link"):
        given = each.attributes
        ends = (given["up"], *backbone), (*backbone, given["down"])
        around.rays.append(builder.made(each, Ray, given["id"], *ends))
    for each in zone.each("cabinet"):
        _cabinet(builder, each, backbone, around)
    return around


def _cabinet(
    builder: SimgridBuilder, element: Element, backbone: tuple[str, ...], around: Surroundings
) -> None:
    """Add equal hosts, each with a link to the centre and a link from it."""
    given = element.attributes
    for number in builder.radical(element):
        name = f"{given['prefix']}{number}{given['suffix']}"
        up, down = f"link_{name}_UP", f"link_{name}_DOWN"
        around.hosts.append(builder.made(element, Host, name, given["speed"]))
        around.links += [builder.made(element, Link, each, given["bw"], given["lat"]) for each in (up, down)]
        around.rays.append(builder.made(element, Ray, name, (up, *backbone), (*backbone, down)))


_OLDEST, _NEWEST = 4.0, 4.1
_ROUTINGS: dict[str, Routing] = {
    "Full": "full",
    "None": "full",  # without routes, that is none
    "Floyd": "floyd",
    "Dijkstra": "dijkstra",
    "DijkstraCache": "dijkstra",
    "Cluster": "star",
}
_BY_LOWER = {name.lower(): routing for name, routing in _ROUTINGS.items()}


def platform(content: bytes, name: str) -> Platform:
    """Create the platform of a document.

    Parameters
    ----------
    content
        The content of the file.
    name
        The name of the file in messages.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    PlatformError
        If the document is invalid; the message names file and line, the value, the rule and the next step.
    """
    builder = SimgridBuilder(name)
    document = parsed(content, name)
    _check_version(builder, document)
    root = _root(builder, document)
    options = {
        prop.attributes["id"]: prop.attributes["value"]
        for config in document.each("config")
        for prop in config.each("prop")
    }
    try:
        return Platform(
            cluster(builder, root) if root.tag == "cluster" else _zone(builder, root), options=options
        )
    except MisfitError as error:
        raise builder.refusal(builder.lines.get(id(error.part), root.line), str(error)) from None


def _root(builder: SimgridBuilder, document: Element) -> Element:
    roots = document.each("zone", "AS", "cluster")
    if not roots:
        raise builder.refusal(document.line, "<platform> is empty; it has a zone or a cluster.")
    if len(roots) > 1:
        second = roots[1]
        raise builder.refusal(
            second.line, f"<{second.tag}> must be inside the first zone, which holds everything."
        )
    return roots[0]


def _check_version(builder: SimgridBuilder, document: Element) -> None:
    version = document.attributes.get("version", "")
    try:
        number = float(version)
    except ValueError:
        number = math.nan
    if not _OLDEST <= number <= _NEWEST:
        hint = "simgrid_update_xml rewrites older files" if number < _OLDEST else "give 4.1"
        raise builder.wrong(document, "version", version, f"must be 4 or 4.1; {hint}")


def _zone(builder: SimgridBuilder, element: Element) -> Zone:
    name, routing = element.attributes["id"], element.attributes["routing"]
    if routing.lower() not in _BY_LOWER:
        raise builder.wrong(element, "routing", routing, f"is not simulated.{suggest(routing, _ROUTINGS)}")
    links = [_link(builder, each) for each in element.each("link")]
    hosts = [_host(builder, each) for each in element.each("host")]
    members = [
        cluster(builder, each) if each.tag == "cluster" else _zone(builder, each)
        for each in element.each("zone", "AS", "cluster")
    ]
    around = surroundings(builder, element)
    if _BY_LOWER[routing.lower()] == "star":
        _check_linked(builder, element)
    return builder.made(
        element,
        Zone,
        name,
        _BY_LOWER[routing.lower()],
        members,
        (*hosts, *around.hosts),
        [each.attributes["id"] for each in element.each("router")],
        (*links, *around.links),
        [_route(builder, each) for each in element.each("route", "ASroute", "zoneRoute")],
        around.rays,
    )


def _check_linked(builder: SimgridBuilder, zone: Element) -> None:
    """Raise for a host in a star that has no link to the centre, since its traffic would be unlimited."""
    linked = {each.attributes["id"] for each in zone.each("host_link")}
    for each in zone.each("host"):
        name = each.attributes["id"]
        if name not in linked:
            raise builder.refusal(
                each.line,
                f"host {shown(name)} of the zone {shown(zone.attributes['id'])} has no <host_link>; a zone "
                "with the routing Cluster needs one for each host: "
                f'add <host_link id="{name}" up="…" down="…"/>.',
            )


def _host(builder: SimgridBuilder, element: Element) -> Host:
    builder.check_files(element)
    name, disks = element.attributes["id"], element.each("disk")
    if len(disks) > 1:
        raise builder.refusal(disks[1].line, f"host {shown(name)} has {len(disks)} disks; one is simulated.")
    disk = None
    for each in disks:
        disk = builder.made(each, Disk, each.attributes["read_bw"], each.attributes["write_bw"])
    fields = builder.node_fields(element, disk)
    return builder.made(element, Host, name, builder.speed(element), builder.cores(element), **fields)


def _link(builder: SimgridBuilder, element: Element) -> Link:
    builder.check_files(element)
    given, sharing = element.attributes, builder.sharing(element, "sharing_policy", "SHARED")
    if sharing == "split_duplex":
        builder.split_links.add(given["id"])
    return builder.made(element, Link, given["id"], given["bandwidth"], given.get("latency", "0"), sharing)


def _route(builder: SimgridBuilder, element: Element) -> Route:
    given, links = element.attributes, [_link_name(builder, each) for each in element.each("link_ctn")]
    if not links:
        raise builder.refusal(
            element.line, f"<{element.tag}> has no link_ctn; a route has one link at least."
        )
    symmetrical = given.get("symmetrical", "YES")
    if symmetrical.upper() not in ("YES", "NO"):
        raise builder.wrong(element, "symmetrical", symmetrical, "must be YES or NO")
    return builder.made(
        element,
        Route,
        given["src"],
        given["dst"],
        links,
        given.get("gw_src"),
        given.get("gw_dst"),
        symmetrical=symmetrical.upper() == "YES",
    )


def _link_name(builder: SimgridBuilder, element: Element) -> str:
    name, direction = element.attributes["id"], element.attributes.get("direction", "NONE")
    if direction not in ("UP", "DOWN", "NONE"):
        raise builder.wrong(element, "direction", direction, "must be UP, DOWN or NONE")
    if direction == "NONE" and name in builder.split_links:
        rule = "is split-duplex; say in which direction it is used: UP or DOWN"
        raise builder.refusal(element.line, f"link {shown(name)} {rule}.")
    return name if direction == "NONE" else f"{name}_{direction}"
