"""Short constructors of common platforms: a cluster with storage, a graph, explicit routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from batchlab.errors import suggest
from batchlab.platform.parts import (
    Cluster,
    Disk,
    GraphRouting,
    Host,
    Link,
    Route,
    SharedStorage,
    Sharing,
    Zone,
    beside,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.platform.parts import Topology

__all__ = ["ClusterOptions", "HostOptions", "Outline", "clustered", "given", "graph"]


class HostOptions(TypedDict, total=False):
    """Options for all nodes, as for `Host`."""

    speed: float | str
    cores: int
    gpus: int
    gpu_speed: float | str
    gpu_bandwidth: float | str
    disk: Disk | None
    striping: float | None
    storage_targets: tuple[str, ...] | None
    properties: Mapping[str, str]


class ClusterOptions(HostOptions, total=False):
    """Options of a cluster other than its topology, and options of its nodes."""

    name: str
    prefix: str
    suffix: str
    sharing: Sharing
    loopback: Link | None
    limiter: float | None
    storage: SharedStorage | Sequence[SharedStorage]


class Outline(NamedTuple):
    """The arguments of `Platform`."""

    root: Zone | Cluster
    name: str
    read_links: tuple[str, ...] = ()
    write_links: tuple[str, ...] = ()


def clustered(
    topology: Topology,
    numbers: Sequence[int] | None,
    bandwidth: float | str,
    latency: float | str,
    options: ClusterOptions,
) -> Outline:
    """Create a cluster with optional shared storage."""
    for key in options:
        if key not in _OF_CLUSTER | _OF_HOST:
            raise TypeError(f"there is no argument {key!r}.{suggest(key, _OF_CLUSTER | _OF_HOST)}")
    of_host: dict[str, Any] = {key: value for key, value in options.items() if key in _OF_HOST}
    of_cluster: dict[str, Any] = {
        key: value for key, value in options.items() if key in _OF_CLUSTER - {"name", "storage"}
    }
    node, name = Host(**of_host), options.get("name", "cluster")
    taken = range(topology.nodes or 0) if numbers is None else numbers
    cluster = Cluster(name, taken, node, bandwidth, latency, topology, **of_cluster)
    shared = options.get("storage", ())
    storage = (shared,) if isinstance(shared, SharedStorage) else tuple(shared)
    if not storage:
        return Outline(cluster, name)
    files = [each.name for each in storage if each.role == "storage"]
    reading, writing = (tuple(f"{file}_{way}" for file in files) for way in ("read", "write"))
    return Outline(beside(cluster, storage), name, reading, writing)


def graph(
    edges: Iterable[tuple[str, str, Link]],
    hosts: Iterable[Host | str],
    name: str,
    routing: GraphRouting,
    options: HostOptions,
) -> Outline:
    """Create hosts and routers joined by links."""
    taken, joined = _named(hosts, options), [*edges]
    known = {host.name for host in taken}
    ends = dict.fromkeys(end for source, target, _ in joined for end in (source, target))
    zone = Zone(
        name,
        routing,
        hosts=taken,
        routers=tuple(end for end in ends if end not in known),
        links=tuple(link for _, _, link in joined),
        routes=tuple(Route(source, target, (_forth(link),)) for source, target, link in joined),
    )
    return Outline(zone, name)


def given(
    links: Iterable[Link],
    routes: Mapping[tuple[str, str], Sequence[str]],
    hosts: Iterable[Host | str] | None,
    name: str,
    options: HostOptions,
    *,
    symmetrical: bool,
) -> Outline:
    """Create hosts with explicit routes between them."""
    ends = dict.fromkeys(end for pair in routes for end in pair)
    listed = tuple(
        Route(source, target, tuple(names), symmetrical=symmetrical)
        for (source, target), names in routes.items()
    )
    taken = _named(ends if hosts is None else hosts, options)
    return Outline(Zone(name, "full", hosts=taken, links=tuple(links), routes=listed), name)


def _named(hosts: Iterable[Host | str], options: HostOptions) -> tuple[Host, ...]:
    """Create the hosts that are given by name."""
    return tuple(host if isinstance(host, Host) else Host(host, **options) for host in hosts)


def _forth(link: Link) -> str:
    """Return the name of a link in the direction from the first end of an edge to the second."""
    return f"{link.name}_UP" if link.sharing == "split_duplex" else link.name


_OF_HOST = frozenset(HostOptions.__annotations__)
_OF_CLUSTER = frozenset(ClusterOptions.__annotations__) - _OF_HOST
