"""SimGrid's form of a described platform: XML of version 4 or 4.1, with ElastiSim's properties.

Understood are zones (``zone``, or ``AS`` as it used to be called) of the routings Full, None, Floyd,
Dijkstra, DijkstraCache and Cluster; in them ``host`` (with ``disk``), ``router``, ``link``, ``cluster`` of
every topology, ``host_link``, ``backbone``, ``cabinet``, ``route`` and ``zoneRoute``; and ``prop``. Elements
about deployments, profiles over time, coordinates and bypasses are refused by name. What hosts' properties
mean is in `properties`; properties of zones, links and disks are passed over.
"""

from __future__ import annotations

import math

from batchlab.errors import shown, suggest
from batchlab.platform.clusters import cluster, surroundings
from batchlab.platform.document import Element, parsed
from batchlab.platform.hardware import Disk, Host, Link
from batchlab.platform.making import Making
from batchlab.platform.parts import Route, Routing, Zone
from batchlab.platform.plan import MisfitError
from batchlab.platform.platform import Platform

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
    """Build the platform that a document describes.

    Parameters
    ----------
    content
        The file.
    name
        What it is called, for messages.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    PlatformError
        Naming file and line, the value, the rule and the next step.
    """
    making = Making(name)
    document = parsed(content, name)
    _check_version(making, document)
    root = _root(making, document)
    options = {
        prop.attributes["id"]: prop.attributes["value"]
        for config in document.each("config")
        for prop in config.each("prop")
    }
    try:
        return Platform(
            cluster(making, root) if root.tag == "cluster" else _zone(making, root), options=options
        )
    except MisfitError as error:
        raise making.refusal(making.lines.get(id(error.part), root.line), str(error)) from None


def _root(making: Making, document: Element) -> Element:
    roots = document.each("zone", "AS", "cluster")
    if not roots:
        raise making.refusal(document.line, "<platform> is empty; it has a zone or a cluster.")
    if len(roots) > 1:
        second = roots[1]
        raise making.refusal(
            second.line, f"<{second.tag}> must be inside the first zone, which holds everything."
        )
    return roots[0]


def _check_version(making: Making, document: Element) -> None:
    version = document.attributes.get("version", "")
    try:
        number = float(version)
    except ValueError:
        number = math.nan
    if not _OLDEST <= number <= _NEWEST:
        hint = "simgrid_update_xml rewrites older files" if number < _OLDEST else "give 4.1"
        raise making.wrong(document, "version", version, f"must be 4 or 4.1; {hint}")


def _zone(making: Making, element: Element) -> Zone:
    name, routing = element.attributes["id"], element.attributes["routing"]
    if routing.lower() not in _BY_LOWER:
        raise making.wrong(element, "routing", routing, f"is not simulated.{suggest(routing, _ROUTINGS)}")
    links = [_link(making, each) for each in element.each("link")]
    hosts = [_host(making, each) for each in element.each("host")]
    members = [
        cluster(making, each) if each.tag == "cluster" else _zone(making, each)
        for each in element.each("zone", "AS", "cluster")
    ]
    around = surroundings(making, element)
    return making.made(
        element,
        Zone,
        name,
        _BY_LOWER[routing.lower()],
        members,
        (*hosts, *around.hosts),
        [each.attributes["id"] for each in element.each("router")],
        (*links, *around.links),
        [_route(making, each) for each in element.each("route", "ASroute", "zoneRoute")],
        around.rays,
    )


def _host(making: Making, element: Element) -> Host:
    making.check_files(element)
    name, disks = element.attributes["id"], element.each("disk")
    if len(disks) > 1:
        raise making.refusal(disks[1].line, f"host {shown(name)} has {len(disks)} disks; one is simulated.")
    disk = None
    for each in disks:
        disk = making.made(each, Disk, each.attributes["read_bw"], each.attributes["write_bw"])
    fields = making.node_fields(element, disk)
    return making.made(element, Host, name, making.speed(element), making.cores(element), **fields)


def _link(making: Making, element: Element) -> Link:
    making.check_files(element)
    given, sharing = element.attributes, making.sharing(element, "sharing_policy", "SHARED")
    if sharing == "split_duplex":
        making.split_links.add(given["id"])
    return making.made(element, Link, given["id"], given["bandwidth"], given.get("latency", "0"), sharing)


def _route(making: Making, element: Element) -> Route:
    given, links = element.attributes, [_link_name(making, each) for each in element.each("link_ctn")]
    if not links:
        raise making.refusal(element.line, f"<{element.tag}> has no link_ctn; a route has one link at least.")
    symmetrical = given.get("symmetrical", "YES")
    if symmetrical.upper() not in ("YES", "NO"):
        raise making.wrong(element, "symmetrical", symmetrical, "must be YES or NO")
    return making.made(
        element,
        Route,
        given["src"],
        given["dst"],
        links,
        given.get("gw_src"),
        given.get("gw_dst"),
        symmetrical=symmetrical.upper() == "YES",
    )


def _link_name(making: Making, element: Element) -> str:
    name, direction = element.attributes["id"], element.attributes.get("direction", "NONE")
    if direction not in ("UP", "DOWN", "NONE"):
        raise making.wrong(element, "direction", direction, "must be UP, DOWN or NONE")
    if direction == "NONE" and name in making.split_links:
        rule = "is split-duplex; say in which direction it is used: UP or DOWN"
        raise making.refusal(element.line, f"link {shown(name)} {rule}.")
    return name if direction == "NONE" else f"{name}_{direction}"
