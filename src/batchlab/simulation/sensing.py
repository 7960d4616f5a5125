"""What the kernel looks at of the platform, where a run senses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from batchlab.errors import SimulationError, suggest

if TYPE_CHECKING:
    from batchlab.options import Sensing
    from batchlab.platform import Platform

__all__ = ["links_seen", "sensors"]

# What a host has for itself, or what bounds a cluster's hosts, says nothing of the network.
_NO_NETWORK = ("_loopback", "_limiter")


class _Numbers(NamedTuple):
    interval: float
    since: float | None
    network: list[int]
    links: list[int]


def links_seen(sensing: Sensing | None, platform: Platform | None) -> tuple[str, ...]:
    """Give the names of the links that are looked at one by one: those asked for, then the storage's."""
    if sensing is None or platform is None:
        return ()
    return tuple(dict.fromkeys((*sensing.links, *platform.read_links, *platform.write_links)))


def sensors(sensing: Sensing | None, platform: Platform) -> _Numbers | None:
    """Give what the kernel looks at.

    Raises
    ------
    SimulationError
        If the platform has no link of a name.
    """
    if sensing is None:
        return None
    numbers = {link.name: number for number, link in enumerate(platform.links)}
    for name in sensing.links:
        if name not in numbers:
            known = suggest(name, numbers)
            raise SimulationError(f"sensing: the platform has no link named {name!r}.{known}")
    apart = [numbers[name] for name in links_seen(sensing, platform)]
    network = [
        number for name, number in numbers.items() if number not in apart and not name.endswith(_NO_NETWORK)
    ]
    return _Numbers(float(sensing.interval), sensing.since, network, apart)
