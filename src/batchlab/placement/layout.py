"""The positions of nodes in their network: the topology, and the index of each node in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import PlatformError
from batchlab.platform import Torus
from batchlab.platform.hops import clusters
from batchlab.system import System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.platform import Platform, Topology

__all__ = ["Layout", "layout_of", "number_of"]


@dataclass(frozen=True)
class Layout:
    """The topology that connects the nodes of a system, and the position of each node.

    Parameters
    ----------
    topology
        The topology.
    places
        For each node of the system, its index in the topology.
    """

    topology: Topology
    places: tuple[int, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """The sizes of the levels, the lowest first, as `Topology.levels`; a crossbar has one."""
        return self.topology.levels or (max(self.places, default=0) + 1,)

    def coordinates(self, node: int) -> tuple[int, ...]:
        """Return the coordinates of a node, the lowest level first."""
        return self.topology.coordinates(self.places[node])

    def torus(self) -> Torus:
        """Return the topology, after checking that it is a torus.

        Raises
        ------
        PlatformError
            If it is not a torus.
        """
        if not isinstance(self.topology, Torus):
            kind = type(self.topology).__name__
            raise PlatformError(f"the nodes are connected by a {kind}; this needs a Torus.")
        return self.topology


def number_of(coordinates: Sequence[int], sizes: Sequence[int], order: Sequence[int]) -> int:
    """Return the index of a point in a box; the first dimension of the order varies fastest."""
    number, weight = 0, 1
    for dimension in order:
        number += weight * coordinates[dimension]
        weight *= sizes[dimension]
    return number


def layout_of(system: System | Platform) -> Layout:
    """Find the topology that connects the nodes of a system, or all compute hosts of a platform.

    Raises
    ------
    PlatformError
        If the system has no platform, or its nodes are not all in one cluster.
    """
    platform, names = (system.platform, system.hosts) if isinstance(system, System) else (system, ())
    if platform is None:
        rule = "this asks how the nodes are connected: use System.of(platform), e.g. of bl.Platform.torus"
        raise PlatformError(f"the system has no platform; {rule}.")
    names = names or tuple(host.name for host in platform.nodes)
    for cluster in clusters(platform.root):
        places = {
            f"{cluster.prefix}{number}{cluster.suffix}": place for place, number in enumerate(cluster.numbers)
        }
        if names[0] not in places:
            continue
        outside = next((name for name in names if name not in places), None)
        if outside is None:
            return Layout(cluster.topology, tuple(places[name] for name in names))
        rule = "this asks for nodes that one topology connects"
        raise PlatformError(f"node {outside!r} is not in cluster {cluster.name!r} as others are; {rule}.")
    raise PlatformError(
        "the nodes are not those of a cluster; this asks for nodes that one topology connects."
    )
