"""Where nodes are in a network, and hops between them (S22.5)."""

from dataclasses import dataclass
from math import prod

__all__ = ["Network"]


@dataclass(frozen=True)
class Network:
    """A torus, tree or dragonfly; `sizes` has the lowest level first, `places` a place for each node."""

    kind: str
    sizes: tuple[int, ...]
    places: tuple[int, ...]

    def point(self, node: int) -> tuple[int, ...]:
        """Give the coordinates of a node, the lowest level first."""
        place, found = self.places[node], []
        for size in self.sizes:
            found.append(place % size)
            place //= size
        return tuple(found)

    def group(self, node: int, level: int) -> int:
        """Give the number of the group of a level in which a node is; level 0 is the nodes themselves."""
        return self.places[node] // prod(self.sizes[:level])

    def hops(self, one: int, other: int) -> int:
        """Count the links between routers from one node to another."""
        a, b = self.point(one), self.point(other)
        if self.kind == "torus":
            apart = [(abs(x - y), size) for x, y, size in zip(a[1:], b[1:], self.sizes[1:], strict=True)]
            return sum(min(way, size - way) for way, size in apart)
        if self.kind == "dragonfly":
            return len(self.way(a, b))
        return 2 * max((level for level, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), default=0)

    def way(self, a: tuple[int, ...], b: tuple[int, ...]) -> list[str]:
        """Name the cables of a route in a dragonfly by their colours."""
        (_, blade, chassis, group), blades = a, self.sizes[1]
        cables: list[str] = []
        if group != b[3]:
            cables += (
                ["green"] * (blade != b[3] % blades) + ["black"] * (chassis != b[3] // blades) + ["blue"]
            )
            blade, chassis = group % blades, group // blades
        if blade != b[1]:
            cables.append("green")
            chassis = 0
        return cables + ["black"] * (chassis != b[2])
