"""Links of the platform that the kernel observes if a run has a `Sensing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from batchlab.errors import SimulationError, suggest

if TYPE_CHECKING:
    from batchlab.options import Sensing
    from batchlab.platform import Platform

__all__ = ["links_seen", "sensors"]

# Loopback links of hosts and the limiters of clusters are not part of the network.
_NO_NETWORK = ("_loopback", "_limiter")


class _Numbers(NamedTuple):
    interval: float
    since: float | None
    network: list[int]
    links: list[int]


def links_seen(sensing: Sensing | None, platform: Platform | None) -> tuple[str, ...]:
    """Return the names of the links observed one by one: the requested ones, then those of storage."""
    if sensing is None or platform is None:
        return ()
    return tuple(dict.fromkeys((*sensing.links, *platform.read_links, *platform.write_links)))


def sensors(sensing: Sensing | None, platform: Platform) -> _Numbers | None:
    """Return the numbers of the observed links, and the times of observation.

    Raises
    ------
    SimulationError
        If the platform has no link with a requested name.
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
