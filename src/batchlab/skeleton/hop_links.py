"""Which links are hops: those between routers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform

__all__ = ["hop_links"]

# What a host has for itself, or what bounds its rate, is no cable.
_NO_CABLES = ("_loopback", "_limiter")


def hop_links(platform: Platform) -> NDArray[np.bool_]:
    """Say of each link whether it counts as a hop.

    Parameters
    ----------
    platform
        The platform.

    Returns
    -------
    numpy.ndarray
        Shape (links,): true but for links that only one host uses, as the cable from a node to its switch,
        and for those that are no cables. O(hosts · the length of their routes).
    """
    cables = np.array([not link.name.endswith(_NO_CABLES) for link in platform.links], np.bool_)
    hops = cables.copy()
    count = len(platform.kernel.hosts)
    for host in range(count):
        # A cable of its own is on the way to all others: to its neighbours in number, and half round.
        others = {(host + 1) % count, (host - 1) % count, (host + count // 2) % count} - {host}
        for out in (True, False):
            routes = [platform.kernel.route(*((host, other) if out else (other, host))) for other in others]
            ways = [[link for link in route[0] if cables[link]] for route in routes if route]
            ends = {way[0 if out else -1] for way in ways if way}
            if len(ways) > 1 and all(ways) and len(ends) == 1:
                hops[ends.pop()] = False
    return hops
