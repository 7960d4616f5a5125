"""Clusters in SimGrid's XML, and the hosts and links around the centre of a zone with routing Cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.errors import suggest
from batchlab.platform.hardware import Host, Link, Sharing
from batchlab.platform.parts import Cluster, Ray
from batchlab.platform.quantities import BANDWIDTH
from batchlab.platform.simgrid_builder import WHOLE
from batchlab.platform.topology import Crossbar, Dragonfly, FatTree, Topology, Torus

if TYPE_CHECKING:
    from batchlab.platform.document import Element
    from batchlab.platform.simgrid_builder import SimgridBuilder

__all__ = ["Surroundings", "cluster", "surroundings"]

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
