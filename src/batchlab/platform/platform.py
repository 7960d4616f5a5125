"""The platform: its parts, the routes between hosts, and short constructors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple, Unpack

from batchlab.core import rules
from batchlab.core.form import check_fields, reduced
from batchlab.core.units import format_count
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform import presets
from batchlab.platform.parts import (
    Cluster,
    Crossbar,
    Dragonfly,
    FatTree,
    GraphRouting,
    Host,
    Link,
    NameOrEmpty,
    Names,
    Texts,
    Torus,
    Zone,
)
from batchlab.platform.plan import build

if TYPE_CHECKING:
    from batchlab._kernel import Platform as Kernel

__all__ = ["Platform", "Way"]


class Way(NamedTuple):
    """A route between two hosts.

    Attributes
    ----------
    links
        The names of its links, in the order in which a flow crosses them.
    latency
        The sum of their latencies, seconds.
    """

    links: tuple[str, ...]
    latency: float


@dataclass(frozen=True)
class Platform:
    """Hosts, links, and the routes between hosts.

    Routes are computed on demand, so the cost of thousands of hosts is proportional to the parts of the
    description.

    Parameters
    ----------
    root
        The root zone or cluster.
    name
        The name of the platform; by default that of the root.
    read_links, write_links
        Names of the links that count as load of reading from the parallel file system, and of writing to it.
    options
        SimGrid's options in a file, by name; not used by the platform.

    Raises
    ------
    PlatformError
        If the parts do not fit together.

    Examples
    --------
    >>> platform = Platform.fat_tree(down=(4, 4), up=(1, 2), cables=(1, 2), speed="1Tf", bandwidth="10GBps")
    >>> len(platform.nodes), len(platform.links)
    (16, 64)
    >>> platform.route("node4", "node5").links
    ('link_from_4_30_4_UP', 'link_from_5_30_5_DOWN')
    """

    root: Annotated[Zone | Cluster, rules.Instance((Zone, Cluster))]
    name: NameOrEmpty = ""
    read_links: Names = ()
    write_links: Names = ()
    options: Texts = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_fields(self, PlatformError)
        rules.set_field(self, "name", self.name or self.root.name)
        rules.set_field(self, "_kernel", build(self.root))
        for name in (*self.read_links, *self.write_links):
            if name not in self._link_numbers:
                raise PlatformError(
                    f"Platform: no link is called {shown(name)}.{suggest(name, self._link_numbers)}"
                )

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)

    def __str__(self) -> str:
        hosts, links = len(self.kernel.hosts), len(self._link_numbers)
        nodes = format_count(len(self.nodes), "node")
        return f"{self.name}: {nodes}, {format_count(hosts, 'host')} in all, {format_count(links, 'link')}"

    @property
    def kernel(self) -> Kernel:
        """The kernel's platform, created once."""
        kernel: Kernel = self.__dict__["_kernel"]
        return kernel

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, in the order of the description; links and jobs refer to them by index."""
        return tuple(_hosts(self.root))

    @cached_property
    def nodes(self) -> tuple[Host, ...]:
        """The hosts that run jobs."""
        return tuple(host for host in self.hosts if host.role == "compute")

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links; split-duplex links count as two, ``NAME_UP`` and ``NAME_DOWN``."""
        return tuple(_link(*each) for each in self._link_facts)

    @cached_property
    def _link_facts(self) -> list[tuple[str, float, float, bool]]:
        return self.kernel.links

    @cached_property
    def _host_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.kernel.hosts)}

    @cached_property
    def _link_names(self) -> list[str]:
        return [name for name, *_ in self._link_facts]

    @cached_property
    def _link_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._link_names)}

    def number(self, host: str) -> int:
        """Return the index of a host.

        Raises
        ------
        PlatformError
            If there is no such host.
        """
        return _place(host, self._host_numbers, "host")

    def link_number(self, link: str) -> int:
        """Return the index of a link.

        Raises
        ------
        PlatformError
            If there is no such link.
        """
        return _place(link, self._link_numbers, "link")

    def link(self, name: str) -> Link:
        """Return a link by name, without creating all links.

        Raises
        ------
        PlatformError
            If there is no such link.
        """
        return _link(*self._link_facts[self.link_number(name)])

    def in_whole_bytes(self) -> Platform:
        """Make all disks progress in whole bytes, as in SimGrid (`Disk`).

        Returns
        -------
        Platform
            The platform with changed disks; the platform itself if it has none.
        """
        if all(host.disk is None for host in self.hosts):
            return self
        return replace(self, root=_in_whole_bytes(self.root))

    def with_storage_links(self, read: Iterable[str], write: Iterable[str]) -> Platform:
        """Set the links from and to the parallel file system.

        Parameters
        ----------
        read, write
            The names of the links that count as load of reading, and of writing.

        Returns
        -------
        Platform
            The platform with these `read_links` and `write_links`.

        Raises
        ------
        PlatformError
            If a link is unknown.
        """
        read, write = tuple(read), tuple(write)
        if (read, write) == (self.read_links, self.write_links):
            return self
        return replace(self, read_links=read, write_links=write)

    def route(self, source: str, target: str) -> Way:
        """Return the route from one host to another.

        Parameters
        ----------
        source, target
            The names of the hosts.

        Returns
        -------
        Way
            The names of the links, in order, and their total latency in seconds.

        Raises
        ------
        PlatformError
            If a host is unknown, or there is no route.
        """
        found = self.kernel.route(self.number(source), self.number(target))
        if found is None:
            raise PlatformError(
                f"there is no route from {shown(source)} to {shown(target)}; add one where their zones meet."
            )
        links, latency = found
        return Way(tuple(self._link_names[link] for link in links), latency)

    @classmethod
    def machine(cls, name: str) -> Platform:
        """Create a predefined platform; `batchlab.platform.presets` lists them with their sources.

        Parameters
        ----------
        name
            ``"cielo"``, ``"titan"``, ``"intrepid"``, ``"mira"``, ``"sdsc-sp2"``, ``"frontier-like"`` or
            ``"summit-like"``.

        Returns
        -------
        Platform
            A platform of one cluster, named after the machine.

        Raises
        ------
        PlatformError
            If the name is unknown.
        """
        found = presets.find(name)
        options: presets.ClusterOptions = {"name": name, "cores": found.cores}
        return cls(*presets.clustered(found.topology, None, found.bandwidth, found.latency, options))

    @classmethod
    def crossbar(
        cls,
        nodes: int | Iterable[int],
        *,
        bandwidth: float | str,
        latency: float | str = 0.0,
        backbone: Link | None = None,
        **options: Unpack[presets.ClusterOptions],
    ) -> Platform:
        """Create a platform of nodes around one switch; all traffic crosses the backbone, if there is one.

        Parameters
        ----------
        nodes
            The number of nodes, or their numbers.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        backbone
            The link in the switch.
        **options
            As for `Cluster` and `Host`; `storage` adds a parallel file system or a shared burst buffer.

        Returns
        -------
        Platform
            A platform of one cluster, by default named ``"cluster"``.
        """
        numbers = range(nodes) if isinstance(nodes, int) else tuple(nodes)
        return cls(*presets.clustered(Crossbar(backbone), numbers, bandwidth, latency, options))

    @classmethod
    def fat_tree(
        cls,
        *,
        down: Sequence[int],
        up: Sequence[int],
        cables: Sequence[int] | None = None,
        bandwidth: float | str,
        latency: float | str = 0.0,
        **options: Unpack[presets.ClusterOptions],
    ) -> Platform:
        """Create a platform of nodes at the leaves of a fat tree.

        Parameters
        ----------
        down, up, cables
            As for `FatTree`, lowest level first; single cables by default.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            A platform of one cluster; its number of nodes is the product of `down`.
        """
        topology = FatTree(tuple(down), tuple(up), (1,) * len(down) if cables is None else tuple(cables))
        return cls(*presets.clustered(topology, None, bandwidth, latency, options))

    @classmethod
    def torus(
        cls,
        dimensions: Sequence[int],
        *,
        bandwidth: float | str | Sequence[float | str],
        latency: float | str = 0.0,
        nodes_per_router: int = 1,
        cables: Sequence[int] | None = None,
        node_bandwidth: float | str | None = None,
        node_latency: float | str = 0.0,
        **options: Unpack[presets.ClusterOptions],
    ) -> Platform:
        """Create a platform of nodes at the routers of a torus.

        Parameters
        ----------
        dimensions
            Routers along each dimension.
        bandwidth
            Bytes per second of each cable; or one value per dimension.
        latency
            Seconds.
        nodes_per_router, cables, node_bandwidth, node_latency
            As for `Torus`: nodes per router, parallel cables along each dimension, and each node's link to
            its router.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            A platform of one cluster; its number of nodes is the product of `dimensions` and
            `nodes_per_router`.
        """
        each = (
            [bandwidth] if isinstance(bandwidth, str) or not isinstance(bandwidth, Sequence) else [*bandwidth]
        )
        topology = Torus(
            tuple(dimensions),
            None if each == [bandwidth] else tuple(each),  # type: ignore[arg-type]  # texts are converted
            nodes_per_router,
            None if cables is None else tuple(cables),
            node_bandwidth,  # type: ignore[arg-type]
            node_latency,  # type: ignore[arg-type]
        )
        return cls(*presets.clustered(topology, None, each[0], latency, options))

    @classmethod
    def dragonfly(
        cls,
        *,
        groups: int,
        chassis: int,
        blades: int,
        nodes_per_blade: int,
        blue: int = 1,
        black: int = 1,
        green: int = 1,
        bandwidth: float | str,
        latency: float | str = 0.0,
        **options: Unpack[presets.ClusterOptions],
    ) -> Platform:
        """Create a platform of nodes in a dragonfly.

        Parameters
        ----------
        groups, chassis, blades, nodes_per_blade, blue, black, green
            As for `Dragonfly`.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            A platform of one cluster.
        """
        topology = Dragonfly(groups, chassis, blades, nodes_per_blade, blue, black, green)
        return cls(*presets.clustered(topology, None, bandwidth, latency, options))

    @classmethod
    def graph(
        cls,
        edges: Iterable[tuple[str, str, Link]],
        *,
        hosts: Iterable[Host | str],
        name: str = "graph",
        routing: GraphRouting = "dijkstra",
        **options: Unpack[presets.HostOptions],
    ) -> Platform:
        """Create a platform of hosts and routers joined by links; routes have the fewest links.

        Parameters
        ----------
        edges
            Tuples of two ends and their link, which is used in both directions; ends that are no hosts are
            routers.
        hosts
            The hosts; `options` describes those that are given by name.
        name
            The name of the platform.
        routing
            The algorithm that selects among equally short routes: Dijkstra's or Floyd's, as in SimGrid.
        **options
            The description of hosts that are given by name, as for `Host`.

        Returns
        -------
        Platform
            A platform of one zone.
        """
        return cls(*presets.graph(edges, hosts, name, routing, options))

    @classmethod
    def from_routes(
        cls,
        links: Iterable[Link],
        routes: Mapping[tuple[str, str], Sequence[str]],
        *,
        hosts: Iterable[Host | str] | None = None,
        name: str = "platform",
        symmetrical: bool = True,
        **options: Unpack[presets.HostOptions],
    ) -> Platform:
        """Create a platform of hosts with explicit routes between them.

        Parameters
        ----------
        links
            The links.
        routes
            The names of the links in order, for each pair of a source and a target.
        hosts
            The hosts; by default all ends of routes.
        name
            The name of the platform.
        symmetrical
            Whether each route is valid in both directions.
        **options
            The description of hosts that are given by name, as for `Host`.

        Returns
        -------
        Platform
            A platform of one zone.
        """
        return cls(*presets.given(links, routes, hosts, name, options, symmetrical=symmetrical))


def _hosts(zone: Zone | Cluster) -> Iterable[Host]:
    """Yield the hosts of a zone in the kernel's order."""
    if isinstance(zone, Cluster):
        for number in zone.numbers:
            # Skip the checks, which would be repeated for each of thousands of nodes.
            host = object.__new__(Host)
            host.__dict__.update(zone.node.__dict__, name=f"{zone.prefix}{number}{zone.suffix}")
            yield host
        return
    yield from zone.hosts
    for member in zone.members:
        yield from _hosts(member)


def _link(name: str, bandwidth: float, latency: float, fat: bool) -> Link:  # as the kernel has it
    return Link(name, bandwidth, latency, "fat_pipe" if fat else "shared")


def _in_whole_bytes(zone: Zone | Cluster) -> Zone | Cluster:
    """Return the zone with disks that progress in whole bytes."""
    if isinstance(zone, Cluster):
        return replace(zone, node=_with_whole_bytes(zone.node))
    hosts = tuple(map(_with_whole_bytes, zone.hosts))
    return replace(zone, hosts=hosts, members=tuple(map(_in_whole_bytes, zone.members)))


def _with_whole_bytes(host: Host) -> Host:
    return host if host.disk is None else replace(host, disk=replace(host.disk, whole_bytes=True))


def _place(name: object, numbers: Mapping[str, int], kind: str) -> int:
    number = numbers.get(name) if isinstance(name, str) else None
    if number is None:
        question = suggest(name, numbers) if isinstance(name, str) else f" Give a {kind}'s name."
        raise PlatformError(f"no {kind} is called {shown(name)}.{question}")
    return number
