"""Storage that all nodes share, beside a cluster: a parallel file system, or a remote burst buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from batchlab.platform import rules
from batchlab.platform.hardware import Host, Link
from batchlab.platform.parts import Cluster, Route, Zone
from batchlab.platform.quantities import BANDWIDTH, TIME, Quantity
from batchlab.platform.topology import Crossbar

__all__ = ["SharedStorage", "beside"]


StorageRole = Literal["storage", "burst_buffer"]


@dataclass(frozen=True)
class SharedStorage:
    """Storage at the other end of two links: one for what is read, one for what is written.

    Parameters
    ----------
    name
        The name of its host; the links are called after it, ``NAME_read`` and ``NAME_write``.
    read, write
        Bandwidths of the links, bytes per second.
    latency
        Of each link, seconds.
    role
        ``"storage"``, a parallel file system, or ``"burst_buffer"``.
    gateway
        The node at which the links leave the cluster. Unless given it is the switch of a crossbar, and the
        first node of any other topology (as in SimGrid, whose other topologies have no point between nodes).

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str
    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    role: StorageRole = "storage"
    gateway: str | None = None

    def __post_init__(self) -> None:
        rules.name(self)
        rules.choice(self, "role", get_args(StorageRole))
        if self.gateway is not None:
            rules.name(self, "gateway")


def beside(cluster: Cluster, storage: tuple[SharedStorage, ...]) -> Zone:
    """Put storage beside a cluster.

    Parameters
    ----------
    cluster
        The cluster.
    storage
        What it shares.

    Returns
    -------
    Zone
        What holds both.
    """
    return Zone(
        f"{cluster.name}_platform",
        members=(
            cluster,
            *(Zone(f"{each.name}_zone", hosts=(Host(each.name, role=each.role),)) for each in storage),
        ),
        links=tuple(
            Link(name, bandwidth, each.latency)
            for each in storage
            for name, bandwidth in ((f"{each.name}_read", each.read), (f"{each.name}_write", each.write))
        ),
        routes=tuple(route for each in storage for route in _routes(cluster, each)),
    )


def _routes(cluster: Cluster, storage: SharedStorage) -> tuple[Route, Route]:
    """Give the way from the storage, and the way to it."""
    gateway, zone = storage.gateway or _door(cluster), f"{storage.name}_zone"
    reading = Route(zone, cluster.name, (f"{storage.name}_read",), storage.name, gateway, symmetrical=False)
    writing = Route(cluster.name, zone, (f"{storage.name}_write",), gateway, storage.name, symmetrical=False)
    return reading, writing


def _door(cluster: Cluster) -> str:
    """Name the point through which the world is reached."""
    if isinstance(cluster.topology, Crossbar):
        return cluster.router or f"{cluster.prefix}{cluster.name}_router{cluster.suffix}"
    return f"{cluster.prefix}{cluster.numbers[0]}{cluster.suffix}"
