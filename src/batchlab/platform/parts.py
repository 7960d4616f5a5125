"""The composite parts of platforms: routes, clusters and zones.

Speeds are in flops per second, bandwidths in bytes per second, times in seconds. Each may be a text with a
unit (see `batchlab.platform.quantities`), and is stored as a float.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from batchlab.platform import rules
from batchlab.platform.hardware import SHARINGS, Host, Link, Sharing
from batchlab.platform.quantities import BANDWIDTH, TIME, Quantity
from batchlab.platform.topology import Crossbar, Topology

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Cluster", "GraphRouting", "Ray", "Route", "Routing", "Zone"]

GraphRouting = Literal["floyd", "dijkstra"]
Routing = Literal["full", "star", GraphRouting]

_ROUTINGS: tuple[Routing, ...] = get_args(Routing)


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
        rules.truth(self, "symmetrical")


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

    member: str
    up: tuple[str, ...]
    down: tuple[str, ...]

    def __post_init__(self) -> None:
        rules.name(self, "member")
        rules.names(self, "up")
        rules.names(self, "down")


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
        rules.check_instance(self, "node", Host)
        rules.check_instance(self, "topology", Topology)
        rules.name(self, "prefix", empty=True)
        rules.name(self, "suffix", empty=True)
        rules.choice(self, "sharing", SHARINGS)
        rules.check_instance(self, "loopback", Link, none=True)
        if self.limiter is not None:
            try:
                rules.set_field(self, "limiter", BANDWIDTH.read(self.limiter, positive=True))
            except ValueError as broken:
                raise rules.refusal(self, "limiter", self.limiter, str(broken)) from None
        if self.router is not None:
            rules.name(self, "router")


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
        rules.check_tuple(self, "members", (Zone, Cluster), "Zone and Cluster")
        rules.check_tuple(self, "hosts", Host, "Host")
        rules.names(self, "routers")
        rules.check_tuple(self, "links", Link, "Link")
        rules.check_tuple(self, "routes", Route, "Route")
        rules.check_tuple(self, "rays", Ray, "Ray")
