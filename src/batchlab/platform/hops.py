"""Hops: the number of links between routers on the route from one host to another.

The link of a node to its router or switch is not counted, nor are the links inside a switch (the backbone of
a crossbar, limiters). So the distance is 0 within a node, a router, a switch or a blade. Within a cluster,
hops follow from the positions of the nodes; otherwise they are counted on routes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from batchlab._kernel import Fabric
from batchlab.platform.parts import Cluster, Crossbar, Dragonfly, FatTree, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from batchlab.platform.parts import Zone
    from batchlab.platform.platform import Platform

__all__ = ["clusters", "distance", "fabric", "hop_links"]

_SAMPLE = 16


def distance(platform: Platform) -> Callable[[int, int], int]:
    """Return a function that counts the hops from one host of a platform to another, by index.

    Parameters
    ----------
    platform
        Hosts, links and routes.

    Returns
    -------
    callable
        O(dimensions or levels) within a cluster; otherwise O(length of the route). A host outside of clusters
        has a link of its own if its routes to up to 32 sampled hosts begin with the same link (to it: end
        with the same link). Without a route, the number of hops is 0.

    Examples
    --------
    >>> import batchlab as bl
    >>> between = distance(bl.Platform.torus((4, 2), bandwidth="5GBps"))
    >>> between(0, 3), between(0, 6)
    (1, 3)
    """
    return _Hops(platform).between


def hop_links(platform: Platform) -> NDArray[np.bool_]:
    """Return a mask of the links of a platform that count as hops.

    Parameters
    ----------
    platform
        Hosts, links and routes.

    Returns
    -------
    numpy.ndarray
        Shape (links,). The number of hops between two hosts is the number of such links on the route. O(hosts
        · length of a route).
    """
    hops = _Hops(platform)
    is_hop = np.ones(len(platform.kernel.links), np.bool_)
    is_hop[[*hops.no_cables]] = False
    for host in range(hops.count):
        for other in hops.others(host):
            out, back = hops.route(host, other), hops.route(other, host)
            is_hop[out[: hops.own(host, True)]] = False
            is_hop[back[len(back) - hops.own(host, False) :]] = False
    return is_hop


def clusters(zone: Zone | Cluster) -> Iterator[Cluster]:
    """Yield the clusters of a zone, in the order of their hosts."""
    if isinstance(zone, Cluster):
        yield zone
        return
    for member in zone.members:
        yield from clusters(member)


def fabric(topology: Topology, places: Sequence[int]) -> Fabric:
    """Return the kernel's fabric for nodes of a topology, given by position."""
    kind = {Torus: "torus", Dragonfly: "dragonfly"}.get(type(topology), "tree")
    # A crossbar is a tree with one level.
    return Fabric(kind, topology.levels or (max(places, default=0) + 1,), places)


class _Hops:
    """The positions of hosts in clusters, and their own links, computed on demand."""

    def __init__(self, platform: Platform) -> None:
        self.kernel = platform.kernel
        self.count = len(self.kernel.hosts)
        self.home: dict[int, tuple[Cluster, int]] = {}
        self.fabrics: dict[int, Fabric] = {}
        for cluster in clusters(platform.root):
            first = platform.number(f"{cluster.prefix}{cluster.numbers[0]}{cluster.suffix}")
            places = range(len(cluster.numbers))
            self.fabrics[id(cluster)] = fabric(cluster.topology, places)
            self.home |= {first + place: (cluster, place) for place in places}
        self.no_cables = _no_cables(platform)
        self.own = cache(self._own)

    def between(self, one: int, other: int) -> int:
        """Count the hops from one host to another."""
        if one == other:
            return 0
        (mine, here), (theirs, there) = self.home.get(one, (None, 0)), self.home.get(other, (None, 0))
        if mine is None or mine is not theirs:
            return self._on_the_route(one, other)
        return self.fabrics[id(mine)].hops(here, there)

    def others(self, host: int) -> Iterable[int]:
        """Return hosts, the routes to which reveal the host's own links."""
        cluster, _ = self.home.get(host, (None, 0))
        if cluster is not None and not isinstance(cluster.topology, FatTree):
            return ((host + 1) % self.count,)
        # A node may have several links: sample the hosts after it, and some evenly from all.
        near = range(1, min(_SAMPLE, self.count))
        far = range(1, self.count, max(1, self.count // _SAMPLE))
        return ((host + apart) % self.count for apart in sorted({*near, *far}))

    def _on_the_route(self, one: int, other: int) -> int:
        route = self.route(one, other)
        return max(0, len(route) - self.own(one, True) - self.own(other, False))  # out, in

    def route(self, one: int, other: int) -> list[int]:
        """Return the links of a route that are cables; empty without a route."""
        found = self.kernel.route(one, other)
        return [] if found is None else [link for link in found[0] if link not in self.no_cables]

    def _own(self, host: int, out: bool) -> int:  # out of the host or into it
        """Count the host's own links at the beginning, or the end, of its routes."""
        cluster, _ = self.home.get(host, (None, 0))
        match None if cluster is None else cluster.topology:
            case None:
                return self._shared_end(host, out)
            case Torus() as torus:
                return int(torus.node_bandwidth is not None)
            case Crossbar(backbone):
                return 1 + (backbone is not None)
            case _:
                return 1

    def _shared_end(self, host: int, out: bool) -> int:  # as `_own`
        """Return 1 if all routes of a host outside of clusters begin, or end, with the same link, else 0."""
        pairs = ((host, other) if out else (other, host) for other in self.others(host))
        routes = [self.route(*pair) for pair in pairs]
        ends = [route[0 if out else -1] for route in routes if route]
        return int(len(ends) > 1 and len(set(ends)) == 1)


def _no_cables(platform: Platform) -> set[int]:
    """Return the links of clusters that are no cables: loopbacks and limiters."""
    names = [
        re.escape(cluster.name)
        for cluster in clusters(platform.root)
        if cluster.limiter is not None or cluster.loopback is not None
    ]
    if not names:
        return set()
    own = re.compile(rf"(?:{'|'.join(names)})_link_-?\d+_(?:loopback|limiter)")
    return {link for link, (name, *_) in enumerate(platform.kernel.links) if own.fullmatch(name)}
