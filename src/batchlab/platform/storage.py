"""Shared storage of a cluster: a parallel file system, or a remote burst buffer."""

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
    """Storage connected by two links: one for reading, one for writing.

    Parameters
    ----------
    name
        The name of its host, which prefixes the names of the links, ``NAME_read`` and ``NAME_write``.
    read, write
        Bandwidths of the links, bytes per second.
    latency
        Of each link, seconds.
    role
        ``"storage"``, a parallel file system, or ``"burst_buffer"``.
    gateway
        The node at which the links are attached to the cluster. By default the switch of a crossbar, or the
        first node of any other topology (as in SimGrid, where the other topologies have no point between
        nodes).

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
    """Create a zone of a cluster and its shared storage.

    Parameters
    ----------
    cluster
        The cluster.
    storage
        The storage shared by its nodes.

    Returns
    -------
    Zone
        The zone.
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
    """Return the routes from and to the storage."""
    gateway, zone = storage.gateway or _door(cluster), f"{storage.name}_zone"
    reading = Route(zone, cluster.name, (f"{storage.name}_read",), storage.name, gateway, symmetrical=False)
    writing = Route(cluster.name, zone, (f"{storage.name}_write",), gateway, storage.name, symmetrical=False)
    return reading, writing


def _door(cluster: Cluster) -> str:
    """Return the name of the gateway of a cluster."""
    if isinstance(cluster.topology, Crossbar):
        return cluster.router or f"{cluster.prefix}{cluster.name}_router{cluster.suffix}"
    return f"{cluster.prefix}{cluster.numbers[0]}{cluster.suffix}"
