"""The topologies of clusters."""

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
        """Parse a quantity, and store it in a field."""
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
