"""The described platform: what there is, which routes lead over it, and short ways to describe it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Unpack

from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform import machines, presets, rules
from batchlab.platform.hardware import Host, Link
from batchlab.platform.parts import Cluster, GraphRouting, Zone
from batchlab.platform.plan import build
from batchlab.platform.topology import Crossbar, Dragonfly, FatTree, Torus

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

    Routes are computed when they are asked for: thousands of hosts cost no more than their parts.

    Parameters
    ----------
    root
        The zone or cluster that holds everything.
    name
        What the platform is called; as the root unless given.
    read_links, write_links
        Names of links whose load is that of reading from the parallel file system, and of writing to it.
    options
        SimGrid's options that a file sets, by name; nothing here looks at them.

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

    root: Zone | Cluster
    name: str = ""
    read_links: tuple[str, ...] = ()
    write_links: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.root, Zone | Cluster):
            raise rules.refusal(self, "root", self.root, "must be a Zone or a Cluster")
        rules.name(self, empty=True)
        rules.names(self, "read_links")
        rules.names(self, "write_links")
        rules.texts(self, "options")
        rules.set_field(self, "name", self.name or self.root.name)
        rules.set_field(self, "_kernel", build(self.root))
        for name in (*self.read_links, *self.write_links):
            if name not in self._link_numbers:
                raise PlatformError(
                    f"Platform: no link is called {shown(name)}.{suggest(name, self._link_numbers)}"
                )

    def __reduce__(self) -> tuple[object, ...]:
        return Platform, (self.root, self.name, self.read_links, self.write_links, dict(self.options))

    def __str__(self) -> str:
        hosts, links = len(self.kernel.hosts), len(self._link_numbers)
        return f"{self.name}: {len(self.nodes)} nodes, {hosts} hosts in all, {links} links"

    @property
    def kernel(self) -> Kernel:
        """The kernel's platform, made once."""
        kernel: Kernel = self.__dict__["_kernel"]
        return kernel

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, in the order of the description; links and jobs know them by their places."""
        return tuple(_hosts(self.root))

    @cached_property
    def nodes(self) -> tuple[Host, ...]:
        """The hosts that run jobs."""
        return tuple(host for host in self.hosts if host.role == "compute")

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links; split-duplex ones are two, ``NAME_UP`` and ``NAME_DOWN``."""
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
        """Give a host's place among the hosts.

        Raises
        ------
        PlatformError
            If there is no such host.
        """
        return _place(host, self._host_numbers, "host")

    def link_number(self, link: str) -> int:
        """Give a link's place among the links.

        Raises
        ------
        PlatformError
            If there is no such link.
        """
        return _place(link, self._link_numbers, "link")

    def link(self, name: str) -> Link:
        """Give a link by its name, without making all of them.

        Raises
        ------
        PlatformError
            If there is no such link.
        """
        return _link(*self._link_facts[self.link_number(name)])

    def in_whole_bytes(self) -> Platform:
        """Let all disks progress in whole bytes, as SimGrid's do (`Disk`).

        Returns
        -------
        Platform
            The same platform but for its disks; itself if it has none.
        """
        if all(host.disk is None for host in self.hosts):
            return self
        return replace(self, root=_in_whole_bytes(self.root))

    def with_storage_links(self, read: Iterable[str], write: Iterable[str]) -> Platform:
        """Say which links lead from the parallel file system, and which to it.

        Parameters
        ----------
        read, write
            The names of the links whose load is that of reading, and of writing.

        Returns
        -------
        Platform
            The same platform with these as `read_links` and `write_links`.

        Raises
        ------
        PlatformError
            If the platform has no link of a name.
        """
        read, write = tuple(read), tuple(write)
        if (read, write) == (self.read_links, self.write_links):
            return self
        return replace(self, read_links=read, write_links=write)

    def route(self, source: str, target: str) -> Way:
        """Find the way from one host to another.

        Parameters
        ----------
        source, target
            The hosts' names.

        Returns
        -------
        Way
            The links' names, in order, and their latency in seconds.

        Raises
        ------
        PlatformError
            If there is no such host, or no route.
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
        """Describe a machine that is ready; `batchlab.platform.machines` has them with their sources.

        Parameters
        ----------
        name
            ``"cielo"``, ``"titan"``, ``"intrepid"``, ``"mira"``, ``"sdsc-sp2"``, ``"frontier-like"`` or
            ``"summit-like"``.

        Returns
        -------
        Platform
            One cluster, called after the machine.

        Raises
        ------
        PlatformError
            If there is none of this name.
        """
        found = machines.find(name)
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
        """Describe nodes around one switch; with a backbone, everything crosses one more link.

        Parameters
        ----------
        nodes
            How many there are, or their numbers.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        backbone
            The link in the switch.
        **options
            As `Cluster` and `Host` take them; `storage` adds a parallel file system or shared burst buffer.

        Returns
        -------
        Platform
            One cluster, called ``"cluster"`` unless told.
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
        """Describe nodes at the leaves of a fat tree.

        Parameters
        ----------
        down, up, cables
            As `FatTree` takes them, lowest level first; single cables unless given.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            One cluster of as many nodes as the product of `down`.
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
        """Describe nodes at the routers of a torus.

        Parameters
        ----------
        dimensions
            Routers along each dimension.
        bandwidth
            Bytes per second of each cable; or one value per dimension.
        latency
            Seconds.
        nodes_per_router, cables, node_bandwidth, node_latency
            As `Torus` takes them: nodes at each router, parallel cables along each dimension, and each node's
            own link to its router.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            One cluster of as many nodes as the product of `dimensions` and `nodes_per_router`.
        """
        each = (
            [bandwidth] if isinstance(bandwidth, str) or not isinstance(bandwidth, Sequence) else [*bandwidth]
        )
        topology = Torus(
            tuple(dimensions),
            None if each == [bandwidth] else tuple(each),  # type: ignore[arg-type]  # texts are taken
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
        """Describe nodes in a dragonfly.

        Parameters
        ----------
        groups, chassis, blades, nodes_per_blade, blue, black, green
            As `Dragonfly` takes them.
        bandwidth, latency
            Of each cable: bytes per second, seconds.
        **options
            As for `crossbar`.

        Returns
        -------
        Platform
            One cluster.
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
        """Describe hosts and routers joined by links; routes take the fewest links.

        Parameters
        ----------
        edges
            Two ends and the link between them, which goes both ways; ends that are no hosts are routers.
        hosts
            The hosts; for those given by name `options` says what they are like.
        name
            What the platform is called.
        routing
            Which of equally short ways is taken: Dijkstra's or Floyd's, as SimGrid does under these names.
        **options
            What the hosts given by name are like, as `Host` takes it.

        Returns
        -------
        Platform
            One zone.
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
        """Describe hosts by every route between them.

        Parameters
        ----------
        links
            The links.
        routes
            For each pair of a source and a target the names of the links, in order.
        hosts
            The hosts; unless given, whatever the routes join.
        name
            What the platform is called.
        symmetrical
            Whether each route goes both ways.
        **options
            What the hosts given by name are like, as `Host` takes it.

        Returns
        -------
        Platform
            One zone.
        """
        return cls(*presets.given(links, routes, hosts, name, options, symmetrical=symmetrical))


def _hosts(zone: Zone | Cluster) -> Iterable[Host]:
    """Give the hosts of a zone in the kernel's order."""
    if isinstance(zone, Cluster):
        for number in zone.numbers:
            # What was checked once is not checked again for each of thousands of nodes.
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
    """Give the same zone, whose disks progress in whole bytes."""
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
