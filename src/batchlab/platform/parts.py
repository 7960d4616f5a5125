"""The parts of platforms: disks, hosts and links, topologies, routes, clusters and zones, shared storage.

Speeds are in flops per second, bandwidths in bytes per second, times in seconds. Each may be a text with a
unit (see `batchlab.platform.quantities`), and is stored as a float.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from batchlab.platform.quantities import BANDWIDTH, SPEED, TIME, Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

import operator
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated

from batchlab.core import rules
from batchlab.core.form import check_fields, reduced, refusal
from batchlab.errors import PlatformError, shown

__all__ = [
    "Cluster",
    "Crossbar",
    "Disk",
    "Dragonfly",
    "FatTree",
    "GraphRouting",
    "Host",
    "Link",
    "Ray",
    "Role",
    "Route",
    "Routing",
    "SharedStorage",
    "Sharing",
    "Topology",
    "Torus",
    "Zone",
    "beside",
]

LARGEST_COUNT = 2**32 - 1
MOST_NUMBERS = 2**20


def node_numbers(value: object, least: int = 0) -> tuple[int, ...]:
    """Check a list of whole numbers, at least one; ranges and lists are converted."""
    with suppress(TypeError, OverflowError):
        if isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) <= MOST_NUMBERS:
            found = tuple(operator.index(each) for each in value if not isinstance(each, bool))
            if found and len(found) == len(value) and least <= min(found) and max(found) <= LARGEST_COUNT:
                return found
    raise ValueError(
        f"must be whole numbers from {least} to 2^32 - 1, one at least and at most {MOST_NUMBERS}"
    )


_bandwidth = partial(BANDWIDTH.read, positive=True)

Name = Annotated[str, rules.NAME]
NameOrEmpty = Annotated[str, rules.Name(empty=True)]
Names = Annotated[tuple[str, ...], rules.List(rules.NAME, "names")]
Texts = Annotated[Mapping[str, str], rules.Table(rules.text, rules.text, "texts to texts")]
Count = Annotated[int, rules.Whole(0, LARGEST_COUNT)]
AtLeastOne = Annotated[int, rules.Whole(1, LARGEST_COUNT)]
Levels = Annotated[tuple[int, ...], partial(node_numbers, least=1)]
Bandwidth = Annotated[float, _bandwidth]
Latency = Annotated[float, TIME.read]
Striping = Annotated[float, SPEED.read]
Capacity = Annotated[float, rules.Number(above=0, unit="bytes", floating=True)]

Role = Literal["compute", "storage", "batch", "burst_buffer"]
Sharing = Literal["shared", "fat_pipe", "split_duplex"]


@dataclass(frozen=True)
class Disk:
    """A disk, or a burst buffer in a node.

    Parameters
    ----------
    read, write
        Bandwidths, bytes per second.
    whole_bytes
        Whether transfers progress in whole bytes at every event of a simulation, as in SimGrid's model of
        disks (semantics A5).
    capacity
        Maximum number of cached bytes (semantics A5a), > 0; None if unlimited.

    Raises
    ------
    PlatformError
        If a bandwidth or the capacity is not > 0, or `whole_bytes` is not a Boolean.
    """

    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    whole_bytes: bool = False
    capacity: Capacity | None = None

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


@dataclass(frozen=True)
class Host:
    """A host: a compute node, or an end point of storage traffic.

    Parameters
    ----------
    name
        Its name, unique among the hosts, routers and zones of the platform; empty for the nodes of a cluster.
    speed
        Flops per second of one core.
    cores
        The number of cores.
    gpus
        The number of GPUs.
    gpu_speed
        Flops per second of one GPU.
    gpu_bandwidth
        Bytes per second between two GPUs of the host.
    disk
        Its disk or burst buffer, if it has one.
    striping
        The flops per byte of striping, if the burst buffers of a job are striped over all of its nodes.
    storage_targets
        The storage hosts among which its traffic with the parallel file system is divided evenly; None for
        all.
    role
        ``"compute"`` (runs jobs), ``"storage"`` (an end point of the parallel file system),
        ``"burst_buffer"`` (a burst buffer shared by all nodes), ``"batch"`` (runs the batch system, and no
        jobs).
    properties
        Further properties from a file.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: NameOrEmpty = ""
    speed: Quantity = Quantity(SPEED, 0.0)
    cores: AtLeastOne = 1
    gpus: Count = 0
    gpu_speed: Quantity = Quantity(SPEED, 0.0)
    gpu_bandwidth: Quantity = Quantity(BANDWIDTH, 0.0)
    disk: Disk | None = None
    striping: Striping | None = None
    storage_targets: Names | None = None
    role: Role = "compute"
    properties: Texts = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)
        if self.striping is not None and self.disk is None:
            rule = f"striping = {shown(self.striping)}; needs a disk to stripe over; give one."
            raise refusal(self, PlatformError, rule)

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)


@dataclass(frozen=True)
class Link:
    """A link.

    Parameters
    ----------
    name
        Its name, unique among the links of the platform.
    bandwidth
        Bytes per second.
    latency
        Seconds.
    sharing
        ``"shared"`` (flows share the bandwidth), ``"fat_pipe"`` (each flow has the full bandwidth), or
        ``"split_duplex"``: two links, ``NAME_UP`` and ``NAME_DOWN``, one per direction.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: Name
    bandwidth: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    sharing: Sharing = "shared"

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


@dataclass(frozen=True)
class Topology:
    """Base class of topologies."""

    @property
    def nodes(self) -> int | None:
        """The number of nodes that it connects; None for any number."""
        return None

    @property
    def levels(self) -> tuple[int, ...]:
        """The sizes of the levels, lowest first; the product is `nodes`. Empty for a crossbar.

        A torus has the nodes of a router followed by its dimensions, a fat tree its levels, a dragonfly the
        nodes of a blade, the blades of a chassis, the chassis of a group, and the groups.
        """
        return ()

    def coordinates(self, place: int) -> tuple[int, ...]:
        """Return the coordinates of the node with an index, lowest level first."""
        found = []
        for size in self.levels:
            place, digit = divmod(place, size)
            found.append(digit)
        return tuple(found) or (place,)


@dataclass(frozen=True)
class Crossbar(Topology):
    """A topology in which every node has a cable to one switch.

    Parameters
    ----------
    backbone
        A link in the switch that all traffic crosses, if any; named after the cluster.
    """

    backbone: Link | None = None


@dataclass(frozen=True)
class FatTree(Topology):
    """A parallel-ports generalised fat tree (Zahavi 2010), routed D-mod-K.

    Each parameter has one number per level, lowest first.

    Parameters
    ----------
    down
        Nodes or switches below each switch.
    up
        Switches above each node or switch.
    cables
        Parallel cables between the two.

    Raises
    ------
    PlatformError
        If a number is < 1, or the parameters differ in length.
    """

    down: Levels
    up: Levels
    cables: Levels

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)
        _check_length(self, len(self.down), "down", "up", "cables")

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return math.prod(self.down)

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes or switches below a switch of each level, lowest first."""
        return self.down


@dataclass(frozen=True)
class Torus(Topology):
    """A torus with any number of dimensions, routed dimension by dimension in the shorter direction.

    Parameters
    ----------
    dimensions
        Routers along each dimension; router numbers increase fastest along the first.
    bandwidths
        Bytes per second of the cables along each dimension, if they differ.
    nodes_per_router
        Nodes per router, numbered consecutively.
    cables
        Parallel cables along each dimension, combined to one link with the total bandwidth; by default single
        cables.
    node_bandwidth, node_latency
        Bytes per second and seconds of each node's link to its router, one per direction; by default none.

    Raises
    ------
    PlatformError
        If a number is < 1, a bandwidth is not > 0, or the parameters differ in length.
    """

    dimensions: Levels
    bandwidths: Annotated[tuple[float, ...], rules.List(_bandwidth, "bandwidths")] | None = None
    nodes_per_router: AtLeastOne = 1
    cables: Levels | None = None
    node_bandwidth: Bandwidth | None = None
    node_latency: Latency = 0.0

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)
        _check_length(self, len(self.dimensions), "dimensions", "cables", "bandwidths")

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return math.prod(self.dimensions) * self.nodes_per_router

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes of a router, followed by the routers along each dimension."""
        return (self.nodes_per_router, *self.dimensions)


@dataclass(frozen=True)
class Dragonfly(Topology):
    """A dragonfly like the Cray XC, with minimal routing.

    Parallel cables of one colour between the same two ends are combined to one link with the total bandwidth.

    Parameters
    ----------
    groups, chassis, blades, nodes_per_blade
        The number of groups; of chassis per group; of blades per chassis, with one router each; of nodes per
        blade. The number of groups must not exceed the number of routers per group.
    blue, black, green
        Cables between two groups; between blades with the same number in two chassis; between blades of a
        chassis.

    Raises
    ------
    PlatformError
        If a number is < 1.
    """

    groups: AtLeastOne
    chassis: AtLeastOne
    blades: AtLeastOne
    nodes_per_blade: AtLeastOne
    blue: AtLeastOne = 1
    black: AtLeastOne = 1
    green: AtLeastOne = 1

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.groups * self.chassis * self.blades * self.nodes_per_blade

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes of a blade, the blades of a chassis, the chassis of a group, and the groups."""
        return (self.nodes_per_blade, self.blades, self.chassis, self.groups)


GraphRouting = Literal["floyd", "dijkstra"]
Routing = Literal["full", "star", GraphRouting]


@dataclass(frozen=True)
class Route:
    """The links between two members of a zone.

    Parameters
    ----------
    source, target
        Names of hosts, routers or zones directly in the zone.
    links
        Names of the links, in order; ``NAME_UP`` or ``NAME_DOWN`` for split-duplex links.
    source_gateway, target_gateway
        The host or router at which the route leaves the source zone, and enters the target zone.
    symmetrical
        Whether the reverse route has the same links in reverse order (split-duplex links in the other
        direction).

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    source: Name
    target: Name
    links: Names
    source_gateway: Name | None = None
    target_gateway: Name | None = None
    symmetrical: bool = True

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


@dataclass(frozen=True)
class Ray:
    """The links between a member of a star and its centre.

    Parameters
    ----------
    member
        The name of the member.
    up, down
        Names of the links from the member to the centre, and from the centre to the member; in order.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    member: Name
    up: Names
    down: Names

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


@dataclass(frozen=True)
class Cluster:
    """Equal nodes and their network; links and routes are named and created as in SimGrid 3.34.

    Parameters
    ----------
    name
        Its name, which prefixes the names of links.
    numbers
        The numbers of the nodes, stored as a tuple: the name of a node is `prefix`, number, `suffix`.
    node
        The description of each node, without a name.
    bandwidth
        Bytes per second of each cable.
    latency
        Seconds of each cable.
    topology
        A `Crossbar` (optionally with a backbone), `FatTree`, `Torus` or `Dragonfly`.
    prefix, suffix
        See `numbers`.
    sharing
        The sharing of cables: ``"split_duplex"``, with one link per direction; or ``"shared"``,
        ``"fat_pipe"``.
    loopback
        Each node's link to itself, if any; its name and sharing are ignored.
    limiter
        Bytes per second of a link that all traffic into and out of a node (and switch) crosses, if any.
    router
        The name of the central router of a crossbar; by default prefix, name, ``_router``, suffix.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: Name
    numbers: Annotated[Sequence[int], node_numbers]
    node: Host
    bandwidth: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    topology: Annotated[Topology, rules.Instance(Topology)] = field(default_factory=Crossbar)
    prefix: NameOrEmpty = "node"
    suffix: NameOrEmpty = ""
    sharing: Sharing = "split_duplex"
    loopback: Link | None = None
    limiter: Bandwidth | None = None
    router: Name | None = None

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


@dataclass(frozen=True)
class Zone:
    """Hosts, routers, clusters and zones, and the routing between them.

    Parameters
    ----------
    name
        Its name, unique among the hosts, routers and zones of the platform.
    routing
        ``"full"`` (by explicit routes), ``"star"`` (each member by its ray to the centre), ``"floyd"`` or
        ``"dijkstra"`` (by the fewest links over explicit routes).
    members
        Its zones and clusters.
    hosts, routers, links
        Its own hosts, routers and links; links may be used in every zone.
    routes
        Routes between its members; none in a star.
    rays
        The links of the members of a star; a member without a ray is at the centre.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: Name
    routing: Routing = "full"
    members: Annotated[tuple[Cluster | Zone, ...], rules.Parts((Cluster, Zone), is_unique=False)] = ()
    hosts: Annotated[tuple[Host, ...], rules.Parts(Host, is_unique=False)] = ()
    routers: Names = ()
    links: Annotated[tuple[Link, ...], rules.Parts(Link, is_unique=False)] = ()
    routes: tuple[Route, ...] = ()
    rays: tuple[Ray, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


StorageRole = Literal["storage", "burst_buffer"]


@dataclass(frozen=True)
class SharedStorage:
    """Storage connected by two links: one for reading, one for writing.

    Parameters
    ----------
    name
        The name of its host, which prefixes the names of the links, ``NAME_read`` and ``NAME_write``.
    read, write
        Bandwidths of the links, bytes per second.
    latency
        Of each link, seconds.
    role
        ``"storage"``, a parallel file system, or ``"burst_buffer"``.
    gateway
        The node at which the links are attached to the cluster. By default the switch of a crossbar, or the
        first node of any other topology (as in SimGrid, where the other topologies have no point between
        nodes).

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: Name
    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    role: StorageRole = "storage"
    gateway: Name | None = None

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)


def beside(cluster: Cluster, storage: tuple[SharedStorage, ...]) -> Zone:
    """Create a zone of a cluster and its shared storage.

    Parameters
    ----------
    cluster
        The cluster.
    storage
        The storage shared by its nodes.

    Returns
    -------
    Zone
        The zone.
    """
    return Zone(
        f"{cluster.name}_platform",
        members=(
            cluster,
            *(Zone(f"{each.name}_zone", hosts=(Host(each.name, role=each.role),)) for each in storage),
        ),
        links=tuple(
            Link(name, bandwidth, each.latency)
            for each in storage
            for name, bandwidth in ((f"{each.name}_read", each.read), (f"{each.name}_write", each.write))
        ),
        routes=tuple(route for each in storage for route in _routes(cluster, each)),
    )


def _routes(cluster: Cluster, storage: SharedStorage) -> tuple[Route, Route]:
    """Return the routes from and to the storage."""
    gateway, zone = storage.gateway or _door(cluster), f"{storage.name}_zone"
    reading = Route(zone, cluster.name, (f"{storage.name}_read",), storage.name, gateway, symmetrical=False)
    writing = Route(cluster.name, zone, (f"{storage.name}_write",), gateway, storage.name, symmetrical=False)
    return reading, writing


def _door(cluster: Cluster) -> str:
    """Return the name of the gateway of a cluster."""
    if isinstance(cluster.topology, Crossbar):
        return cluster.router or f"{cluster.prefix}{cluster.name}_router{cluster.suffix}"
    return f"{cluster.prefix}{cluster.numbers[0]}{cluster.suffix}"


def _check_length(topology: Topology, length: int, like: str, *names: str) -> None:
    """Raise unless fields of a topology have as many numbers as another one, or are left out."""
    for name in names:
        value = getattr(topology, name)
        if value is not None and len(value) != length:
            rule = f"must have as many numbers as {like}, {length}"
            raise refusal(topology, PlatformError, f"{name} = {shown(value)}; {rule}.")
