"""How the nodes of a cluster are connected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.platform import rules
from batchlab.platform.quantities import BANDWIDTH, TIME

if TYPE_CHECKING:
    from batchlab.platform.hardware import Link
    from batchlab.platform.quantities import Unit

__all__ = ["Crossbar", "Dragonfly", "FatTree", "Topology", "Torus"]


class Topology:
    """The base of the topologies."""

    @property
    def nodes(self) -> int | None:
        """The number of nodes that it connects; None for any."""
        return None

    @property
    def levels(self) -> tuple[int, ...]:
        """The sizes of the levels, the lowest first; the product is `nodes`. None for a crossbar.

        A torus has nodes of a router and then its dimensions, a fat tree its levels, a dragonfly the nodes
        of a blade, the blades of a chassis, the chassis of a group, and the groups.
        """
        return ()

    def coordinates(self, place: int) -> tuple[int, ...]:
        """Give the coordinates of the node at a place, the lowest level first."""
        found = []
        for size in self.levels:
            place, digit = divmod(place, size)
            found.append(digit)
        return tuple(found) or (place,)


@dataclass(frozen=True)
class Crossbar(Topology):
    """Every node has a cable to one switch.

    Parameters
    ----------
    backbone
        A link in the switch that everything crosses, if there is one; called after the cluster.
    """

    backbone: Link | None = None


@dataclass(frozen=True)
class FatTree(Topology):
    """A parallel-ports generalised fat tree (Zahavi 2010), routed D-mod-K.

    Each parameter has one number per level, the lowest first.

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
        If a number is not >= 1, or they are not as many.
    """

    down: tuple[int, ...]
    up: tuple[int, ...]
    cables: tuple[int, ...]

    def __post_init__(self) -> None:
        for field in ("down", "up", "cables"):
            rules.numbers(self, field, 1)
            value = getattr(self, field)
            if len(value) != len(self.down):
                rule = f"must have as many numbers as down, {len(self.down)}"
                raise rules.refusal(self, field, value, rule)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return math.prod(self.down)

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes or switches below a switch of each level, the lowest first."""
        return self.down


@dataclass(frozen=True)
class Torus(Topology):
    """A torus of any number of dimensions, routed dimension by dimension, the shorter way round.

    Parameters
    ----------
    dimensions
        Routers along each dimension; numbers of routers run fastest along the first.
    bandwidths
        Bytes per second of the cables along each dimension, where they differ from one another.
    nodes_per_router
        Nodes at each router, numbered one after the other.
    cables
        Parallel cables along each dimension, bundled into one of so many times the bandwidth; single ones
        unless given.
    node_bandwidth, node_latency
        Bytes per second and seconds of each node's own link to its router, one for each way; none unless
        given.

    Raises
    ------
    PlatformError
        If a number is not >= 1, or a bandwidth not > 0, or these are not as many.
    """

    dimensions: tuple[int, ...]
    bandwidths: tuple[float, ...] | None = None
    nodes_per_router: int = 1
    cables: tuple[int, ...] | None = None
    node_bandwidth: float | None = None
    node_latency: float = 0.0

    def __post_init__(self) -> None:
        rules.numbers(self, "dimensions", 1)
        rules.count(self, "nodes_per_router", 1)
        if self.cables is not None:
            rules.numbers(self, "cables", 1)
            if len(self.cables) != len(self.dimensions):
                rule = f"must have as many numbers as dimensions, {len(self.dimensions)}"
                raise rules.refusal(self, "cables", self.cables, rule)
        self._take("node_bandwidth", self.node_bandwidth, BANDWIDTH, positive=True)
        self._take("node_latency", self.node_latency, TIME)
        given = self.bandwidths
        if given is None:
            return
        if not isinstance(given, tuple | list) or len(given) != len(self.dimensions):
            rule = f"must be as many bandwidths as dimensions, {len(self.dimensions)}"
            raise rules.refusal(self, "bandwidths", given, rule)
        try:
            taken = tuple(BANDWIDTH.read(each, positive=True) for each in given)
        except ValueError as broken:
            raise rules.refusal(self, "bandwidths", given, f"each {broken}") from None
        rules.set_field(self, "bandwidths", taken)

    def _take(self, field: str, value: float | str | None, kind: Unit, *, positive: bool = False) -> None:
        """Read a quantity into a field."""
        try:
            taken = None if value is None else kind.read(value, positive=positive)
        except ValueError as broken:
            raise rules.refusal(self, field, value, str(broken)) from None
        rules.set_field(self, field, taken)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return math.prod(self.dimensions) * self.nodes_per_router

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes of a router, then the routers along each dimension."""
        return (self.nodes_per_router, *self.dimensions)


@dataclass(frozen=True)
class Dragonfly(Topology):
    """A dragonfly in the manner of the Cray XC, routed minimally.

    Cables of one colour between the same two ends are bundled into one of so many times the bandwidth.

    Parameters
    ----------
    groups, chassis, blades, nodes_per_blade
        The number of groups; of chassis per group; of blades per chassis, with one router each; of nodes per
        blade. There are at most as many groups as routers in a group.
    blue, black, green
        Cables between two groups; between blades of one number in two chassis; between blades of a chassis.

    Raises
    ------
    PlatformError
        If a number is not >= 1.
    """

    groups: int
    chassis: int
    blades: int
    nodes_per_blade: int
    blue: int = 1
    black: int = 1
    green: int = 1

    def __post_init__(self) -> None:
        for field in ("groups", "chassis", "blades", "nodes_per_blade", "blue", "black", "green"):
            rules.count(self, field, 1)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.groups * self.chassis * self.blades * self.nodes_per_blade

    @property
    def levels(self) -> tuple[int, ...]:
        """The nodes of a blade, the blades of a chassis, the chassis of a group, and the groups."""
        return (self.nodes_per_blade, self.blades, self.chassis, self.groups)
