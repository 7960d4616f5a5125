"""Short constructors of common platforms, and predefined platforms of machines with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.parts import (
    Cluster,
    Disk,
    Dragonfly,
    FatTree,
    GraphRouting,
    Host,
    Link,
    Route,
    SharedStorage,
    Sharing,
    Topology,
    Torus,
    Zone,
    beside,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.platform.parts import Topology

__all__ = [
    "MACHINES",
    "ClusterOptions",
    "HostOptions",
    "Machine",
    "Outline",
    "clustered",
    "find",
    "given",
    "graph",
]


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


_OBAIDA = (
    "M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads. WSC 2017, "
    "and the simulator published with it (github.com/summonersRift/ppt-sched)"
)


@dataclass(frozen=True)
class Machine:
    """A predefined platform.

    Parameters
    ----------
    summary
        The machine and its site.
    topology
        The topology of its nodes.
    bandwidth, latency
        Of each cable: bytes per second, seconds.
    cores
        Cores per node.
    source
        The source of the numbers.
    notes
        Assumptions, simplifications, and values without a source.
    """

    summary: str
    topology: Topology
    bandwidth: str
    latency: str
    cores: int
    source: str
    notes: str = ""


def _gemini(x: int, y: int, z: int) -> Torus:
    """Create a torus of Cray's Gemini: two nodes per router, double cables in x and z."""
    link: Any = "20GBps"
    latency: Any = "0.635us"
    return Torus((x, y, z), None, 2, (2, 1, 2), link, latency)


_TITAN: Any = ("5.87GBps", "3.47GBps", "6.09GBps")
_TITAN_LINK: Any = "20GBps"
_TITAN_LATENCY: Any = "0.75us"
_SLINGSHOT = (
    "Frontier user guide, docs.olcf.ornl.gov (9,408 nodes of 64 cores, Slingshot of 200 Gbit/s a port)"
)
_SUMMIT = (
    "Summit user guide, docs.olcf.ornl.gov (4,608 nodes with 42 cores for jobs, dual-rail EDR InfiniBand, "
    "23 GB/s a node, non-blocking fat tree)"
)

MACHINES: Mapping[str, Machine] = {
    "cielo": Machine(
        "Cray XE6 Cielo, Los Alamos: 16 × 12 × 24 Gemini routers, 9,216 nodes, 147,456 cores",
        _gemini(16, 12, 24),
        "4.68GBps",
        "0.10875us",
        16,
        _OBAIDA,
        "The real machine has fewer compute nodes.",
    ),
    "titan": Machine(
        "Cray XK7 Titan, Oak Ridge: 25 × 16 × 24 Gemini routers, 19,200 nodes",
        Torus((25, 16, 24), _TITAN, 2, None, _TITAN_LINK, _TITAN_LATENCY),
        "5.87GBps",
        "0.0984us",
        16,
        _OBAIDA,
        "Bandwidths by dimension are those that MPI sees. The real machine has 18,688 compute nodes. The "
        "bandwidth of a node's link is Cielo's.",
    ),
    "intrepid": Machine(
        "IBM Blue Gene/P Intrepid, Argonne: 40,960 quad-core nodes in a torus of 32 × 32 × 40",
        Torus((32, 32, 40)),
        "425MBps",
        "0.1us",
        4,
        "Parallel Workloads Archive, The ANL Intrepid log (40,960 quad-core nodes, 1,024 in each rack)",
        "The dimensions of the torus are ours; bandwidth (425 MB/s each way) and latency are from memory.",
    ),
    "mira": Machine(
        "IBM Blue Gene/Q Mira, Argonne: 49,152 nodes in a torus of 8 × 12 × 16 × 16 × 2",
        Torus((8, 12, 16, 16, 2)),
        "2GBps",
        "40ns",
        16,
        _OBAIDA,
        "The simulator's file has 8 for the fourth dimension, which is half of the machine.",
    ),
    "sdsc-sp2": Machine(
        "IBM SP2, San Diego: 128 nodes, as the paper models it, two at each of 4 × 4 × 4 routers",
        _gemini(4, 4, 4),
        "4.68GBps",
        "0.10875us",
        1,
        _OBAIDA,
        "The real machine had a multistage switch. Links are Cielo's.",
    ),
    "frontier-like": Machine(
        "a dragonfly of Frontier's size: 48 groups of 49 switches with 4 nodes, 9,408 nodes of 64 cores",
        Dragonfly(48, 1, 49, 4),
        "25GBps",
        "0.2us",
        64,
        _SLINGSHOT,
        "Frontier has 74 groups of nodes with 32 switches each, and four ports a node; groups here are such "
        "that they give its number of nodes. The latency is from memory.",
    ),
    "summit-like": Machine(
        "a fat tree of Summit's size: 256 leaf switches with 18 nodes, three levels, 4,608 nodes of 42 cores",
        FatTree((18, 16, 16), (1, 18, 16), (1, 1, 1)),
        "23GBps",
        "0.1us",
        42,
        _SUMMIT,
        "Both rails are one cable. The numbers of switches above the leaves are ours; the latency is from "
        "memory.",
    ),
}
"""The predefined platforms."""


def find(name: str) -> Machine:
    """Return the description of a predefined platform.

    Raises
    ------
    PlatformError
        If the name is unknown; the message suggests the nearest.
    """
    if name not in MACHINES:
        raise PlatformError(f"no machine named {shown(name)}.{suggest(name, MACHINES)}")
    return MACHINES[name]
