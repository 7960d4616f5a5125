"""Read platforms in SimGrid's XML, versions 4 and 4.1, with ElastiSim's properties.

Supported are zones (``zone``, or ``AS`` in older files) with the routings Full, None, Floyd, Dijkstra,
DijkstraCache and Cluster; in zones ``host`` (with ``disk``), ``router``, ``link``, ``cluster`` with every
topology, ``host_link``, ``backbone``, ``cabinet``, ``route`` and ``zoneRoute``; and ``prop``. Elements for
deployments, profiles over time, coordinates and bypasses are refused by name. `properties` describes the
properties of hosts; properties of zones, links and disks are ignored.
"""

from __future__ import annotations

import math

from batchlab.errors import shown, suggest
from batchlab.platform.clusters import cluster, surroundings
from batchlab.platform.document import Element, parsed
from batchlab.platform.hardware import Disk, Host, Link
from batchlab.platform.parts import Route, Routing, Zone
from batchlab.platform.plan import MisfitError
from batchlab.platform.platform import Platform
from batchlab.platform.simgrid_builder import SimgridBuilder

__all__ = ["platform"]

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
