"""Looking at how much of the platform is used, in equal intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from batchlab.errors import SimulationError, shown, suggest

if TYPE_CHECKING:
    from batchlab.platform import Platform

__all__ = ["Sensing", "links_seen", "sensors"]

# What a host has for itself, or what bounds a cluster's hosts, says nothing of the network.
_NO_NETWORK = ("_loopback", "_limiter")


@dataclass(frozen=True)
class Sensing:
    """What to look at during a run, for `Result.utilisation`.

    Parameters
    ----------
    interval
        Seconds between two looks, > 0.
    links
        The names of links that are looked at one by one; they do not count as the network. Nor do the
        platform's ``read_links`` and ``write_links``, which are always among them.

    Raises
    ------
    SimulationError
        If the interval is not a finite number > 0.
    """

    interval: float
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        number = isinstance(self.interval, int | float) and not isinstance(self.interval, bool)
        if not number or not math.isfinite(self.interval) or self.interval <= 0:
            rule = "must be a finite number of seconds > 0"
            raise SimulationError(f"interval = {shown(self.interval)}; {rule}.")
        links: object = self.links
        if isinstance(links, str):
            raise SimulationError(f"links = {links!r}; must be names of links, as ({links!r},).")
        object.__setattr__(self, "links", tuple(self.links))


class _Numbers(NamedTuple):
    interval: float
    network: list[int]
    links: list[int]


def links_seen(sensing: Sensing, platform: Platform) -> tuple[str, ...]:
    """Give the names of the links that are looked at one by one: those asked for, then the storage's."""
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
    return _Numbers(float(sensing.interval), network, apart)
