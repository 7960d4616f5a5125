"""What platforms are described by: hosts, links, routes, clusters and zones.

Speeds are flops per second, bandwidths bytes per second, times seconds; each may be a text with a unit, as
`batchlab.platform.quantities` reads it, and is held as a float.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from batchlab.platform import rules
from batchlab.platform.quantities import BANDWIDTH, SPEED, TIME, Quantity
from batchlab.platform.topology import Crossbar, Topology

__all__ = ["Cluster", "Disk", "Host", "Link", "Ray", "Role", "Route", "Routing", "Sharing", "Zone"]

Role = Literal["compute", "storage", "batch", "burst_buffer"]
Sharing = Literal["shared", "fat_pipe", "split_duplex"]
Routing = Literal["full", "star", "floyd", "dijkstra"]

_ROLES = ("compute", "storage", "batch", "burst_buffer")
_SHARINGS = ("shared", "fat_pipe", "split_duplex")
_ROUTINGS = ("full", "star", "floyd", "dijkstra")


@dataclass(frozen=True)
class Disk:
    """A disk, or a burst buffer in the node.

    Parameters
    ----------
    read, write
        Bandwidths, bytes per second.
    whole_bytes
        Whether what is under way progresses in whole bytes at every event of a simulation, as in SimGrid's
        model of disks (semantics A5).

    Raises
    ------
    PlatformError
        If a bandwidth is not > 0, or `whole_bytes` neither True nor False.
    """

    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    whole_bytes: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.whole_bytes, bool):
            raise rules.refusal(self, "whole_bytes", self.whole_bytes, "must be True or False")


@dataclass(frozen=True)
class Host:
    """A host: a compute node, or an end point of storage traffic.

    Parameters
    ----------
    name
        Its name, unique among the platform's hosts, routers and zones; empty for the nodes of a cluster.
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
        Where a job's burst buffers are striped over all of its nodes: the flops that this costs per byte.
    storage_targets
        The storage hosts that its traffic with the parallel file system goes to, evenly; None for all.
    role
        ``"compute"`` (runs jobs), ``"storage"`` (an end point of the parallel file system),
        ``"burst_buffer"`` (one that all nodes share), ``"batch"`` (runs the batch system; no job sees it).
    properties
        Whatever else a file says about it.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str = ""
    speed: Quantity = Quantity(SPEED, 0.0)
    cores: int = 1
    gpus: int = 0
    gpu_speed: Quantity = Quantity(SPEED, 0.0)
    gpu_bandwidth: Quantity = Quantity(BANDWIDTH, 0.0)
    disk: Disk | None = None
    striping: float | None = None
    storage_targets: tuple[str, ...] | None = None
    role: Role = "compute"
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        rules.name(self, empty=True)
        rules.count(self, "cores", 1)
        rules.count(self, "gpus")
        rules.the(self, "disk", Disk, none=True)
        rules.choice(self, "role", _ROLES)
        if self.striping is not None:
            try:
                rules.set_field(self, "striping", SPEED.read(self.striping))
            except ValueError as broken:
                raise rules.refusal(self, "striping", self.striping, str(broken)) from None
            if self.disk is None:
                raise rules.refusal(self, "striping", self.striping, "needs a disk to stripe over; give one")
        if self.storage_targets is not None:
            rules.names(self, "storage_targets")
        rules.texts(self, "properties")

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        values = (getattr(self, each.name) for each in fields(self))
        return Host, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


@dataclass(frozen=True)
class Link:
    """A link.

    Parameters
    ----------
    name
        Its name, unique among the platform's links.
    bandwidth
        Bytes per second.
    latency
        Seconds.
    sharing
        ``"shared"`` (the flows share the bandwidth), ``"fat_pipe"`` (each flow has all of it), or
        ``"split_duplex"``: two links, ``NAME_UP`` and ``NAME_DOWN``, one for each way.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str
    bandwidth: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    sharing: Sharing = "shared"

    def __post_init__(self) -> None:
        rules.name(self)
        rules.choice(self, "sharing", _SHARINGS)


@dataclass(frozen=True)
class Route:
    """The links between two members of a zone.

    Parameters
    ----------
    source, target
        Names of hosts, routers or zones directly in the zone.
    links
        Names of the links, in order; ``NAME_UP`` or ``NAME_DOWN`` of split-duplex ones.
    source_gateway, target_gateway
        The host or router through which the route leaves a zone, and enters one.
    symmetrical
        Whether the way back is the same in the other order (on split-duplex links, in the other direction).

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    source: str
    target: str
    links: tuple[str, ...]
    source_gateway: str | None = None
    target_gateway: str | None = None
    symmetrical: bool = True

    def __post_init__(self) -> None:
        rules.name(self, "source")
        rules.name(self, "target")
        rules.names(self, "links")
        for gateway in ("source_gateway", "target_gateway"):
            if getattr(self, gateway) is not None:
                rules.name(self, gateway)
        rules.the(self, "symmetrical", bool)


@dataclass(frozen=True)
class Ray:
    """The links between a member of a star and its centre.

    Parameters
    ----------
    member
        Its name.
    up, down
        Names of the links from the member to the centre, and from the centre to the member; in order.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    member: str
    up: tuple[str, ...]
    down: tuple[str, ...]

    def __post_init__(self) -> None:
        rules.name(self, "member")
        rules.names(self, "up")
        rules.names(self, "down")


@dataclass(frozen=True)
class Cluster:
    """Equal nodes and what connects them; links and routes are named and made as SimGrid 3.34 does.

    Parameters
    ----------
    name
        Its name; links are called after it.
    numbers
        The nodes' numbers, held as a tuple: each node is called `prefix`, number, `suffix`.
    node
        What each node is like, without a name.
    bandwidth
        Bytes per second of each cable.
    latency
        Seconds of each cable.
    topology
        A `Crossbar` (optionally with a backbone), `FatTree`, `Torus` or `Dragonfly`.
    prefix, suffix
        See `numbers`.
    sharing
        What a cable is: ``"split_duplex"``, a link for each way; or ``"shared"``, ``"fat_pipe"``.
    loopback
        Each node's link to itself, if it has one; its name and sharing are not looked at.
    limiter
        Bytes per second of a link that everything into and out of a node (and switch) crosses, if any.
    router
        The name of the point in the middle of a crossbar; prefix, name, ``_router``, suffix unless given.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str
    numbers: Sequence[int]
    node: Host
    bandwidth: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    topology: Topology = field(default_factory=Crossbar)
    prefix: str = "node"
    suffix: str = ""
    sharing: Sharing = "split_duplex"
    loopback: Link | None = None
    limiter: float | None = None
    router: str | None = None

    def __post_init__(self) -> None:
        rules.name(self)
        rules.numbers(self, "numbers")
        rules.the(self, "node", Host)
        rules.the(self, "topology", Topology)
        rules.name(self, "prefix", empty=True)
        rules.name(self, "suffix", empty=True)
        rules.choice(self, "sharing", _SHARINGS)
        rules.the(self, "loopback", Link, none=True)
        if self.limiter is not None:
            try:
                rules.set_field(self, "limiter", BANDWIDTH.read(self.limiter, positive=True))
            except ValueError as broken:
                raise rules.refusal(self, "limiter", self.limiter, str(broken)) from None
        if self.router is not None:
            rules.name(self, "router")


@dataclass(frozen=True)
class Zone:
    """Hosts, routers, clusters and zones, and how they reach one another.

    Parameters
    ----------
    name
        Its name, unique among the platform's hosts, routers and zones.
    routing
        ``"full"`` (by the routes that are given), ``"star"`` (each member by its ray to the centre),
        ``"floyd"`` or ``"dijkstra"`` (by the fewest links over the routes that are given).
    members
        Its zones and clusters.
    hosts, routers, links
        What it has itself; links may be used in every zone.
    routes
        Routes between its members; none in a star.
    rays
        The links of the members of a star; a member without a ray is in the centre.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str
    routing: Routing = "full"
    members: tuple[Zone | Cluster, ...] = ()
    hosts: tuple[Host, ...] = ()
    routers: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    routes: tuple[Route, ...] = ()
    rays: tuple[Ray, ...] = ()

    def __post_init__(self) -> None:
        rules.name(self)
        rules.choice(self, "routing", _ROUTINGS)
        rules.all_of(self, "members", (Zone, Cluster), "Zone and Cluster")
        rules.all_of(self, "hosts", Host, "Host")
        rules.names(self, "routers")
        rules.all_of(self, "links", Link, "Link")
        rules.all_of(self, "routes", Route, "Route")
        rules.all_of(self, "rays", Ray, "Ray")
