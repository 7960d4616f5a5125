"""Convert a description to the kernel's platform, with the parts in the order that the kernel requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab._kernel import Platform as Kernel
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.parts import Cluster, Host, Link, Ray, Route, Zone

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MisfitError", "Part", "build"]

Part = Zone | Cluster | Host | Link | Ray | Route | str
_Step = tuple[str, int | None, object]

_DEEPEST = 100


class MisfitError(PlatformError):
    """A part that does not fit with the others; readers of files catch it to add the position.

    Parameters
    ----------
    part
        The part.
    rule
        The broken rule, and the next step.
    """

    def __init__(self, part: Part, rule: str) -> None:
        super().__init__(f"{_described(part)}: {rule}.")
        self.part = part
        self.rule = rule

    def __reduce__(self) -> tuple[object, ...]:
        return MisfitError, (self.part, self.rule)


def build(root: Zone | Cluster) -> Kernel:
    """Create the kernel's platform.

    Parameters
    ----------
    root
        The root zone or cluster.

    Returns
    -------
    Platform
        The kernel's platform.

    Raises
    ------
    MisfitError
        If the parts do not fit together.
    """
    steps = [*_things(root)]
    _check_targets(steps)
    zones = {id(part): number for number, part in enumerate(_zones(steps))}
    steps += [
        (kind, zones[id(zone)], part)
        for zone in _zones(steps)
        if isinstance(zone, Zone)
        for kind, parts in (("ray", zone.rays), ("route", zone.routes))
        for part in parts
    ]
    try:
        return Kernel(steps)
    except ValueError as refused:
        place, rule = refused.args
        part = steps[place][2] if place < len(steps) else root
        raise MisfitError(part, rule) from None


def _zones(steps: list[_Step]) -> Iterator[Zone | Cluster]:
    """Yield the zones and clusters in the order in which the kernel numbers them."""
    for _, _, part in steps:
        if isinstance(part, Zone | Cluster):
            yield part


def _things(root: Zone | Cluster) -> Iterator[_Step]:
    """Yield all parts, zone by zone, each with the number of its zone."""
    waiting: list[tuple[Zone | Cluster, int | None, int]] = [(root, None, 0)]
    number = 0
    while waiting:
        zone, parent, depth = waiting.pop()
        if depth > _DEEPEST:
            raise MisfitError(zone, f"is nested too deeply; zones go {_DEEPEST} deep")
        yield ("cluster" if isinstance(zone, Cluster) else "zone"), parent, zone
        if isinstance(zone, Zone):
            yield from (("host", number, host) for host in zone.hosts)
            yield from (("router", number, router) for router in zone.routers)
            yield from (("link", number, link) for link in zone.links)
            waiting += [(member, number, depth + 1) for member in reversed(zone.members)]
        number += 1


def _check_targets(steps: list[_Step]) -> None:
    """Raise for storage targets that are no hosts: the kernel could not name the part that refers to them."""
    named = [(part.node if isinstance(part, Cluster) else part, part) for part in _with_hosts(steps)]
    wanted = [(target, part) for host, part in named for target in host.storage_targets or ()]
    if not wanted:
        return
    hosts = {name for part in _with_hosts(steps) for name in _host_names(part)}
    for target, part in wanted:
        if target not in hosts:
            question = suggest(target, hosts).rstrip(".")
            raise MisfitError(part, f"storage target {shown(target)} is no host.{question}")


def _with_hosts(steps: list[_Step]) -> Iterator[Cluster | Host]:
    for _, _, part in steps:
        if isinstance(part, Cluster | Host):
            yield part


def _host_names(part: Cluster | Host) -> Iterator[str]:
    if isinstance(part, Cluster):
        yield from (f"{part.prefix}{number}{part.suffix}" for number in part.numbers)
    else:
        yield part.name


def _described(part: Part) -> str:
    """Return the name of a part in error messages."""
    if isinstance(part, Route):
        return f"route from {shown(part.source)} to {shown(part.target)}"
    if isinstance(part, Ray):
        return f"ray of {shown(part.member)}"
    if isinstance(part, str):
        return f"router {shown(part)}"
    return f"{type(part).__name__.lower()} {shown(part.name)}"
