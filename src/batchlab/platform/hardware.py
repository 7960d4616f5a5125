"""The elements of platforms: disks, hosts and links.

Speeds are in flops per second, bandwidths in bytes per second, times in seconds. Each may be a text with a
unit (see `batchlab.platform.quantities`), and is stored as a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from batchlab.platform import rules
from batchlab.platform.quantities import BANDWIDTH, SPEED, TIME, Quantity

__all__ = ["SHARINGS", "Disk", "Host", "Link", "Role", "Sharing"]

Role = Literal["compute", "storage", "batch", "burst_buffer"]
Sharing = Literal["shared", "fat_pipe", "split_duplex"]

_ROLES: tuple[Role, ...] = get_args(Role)
SHARINGS: tuple[Sharing, ...] = get_args(Sharing)


@dataclass(frozen=True)
class Disk:
    """A disk, or a burst buffer in a node.

    Parameters
    ----------
    read, write
        Bandwidths, bytes per second.
    whole_bytes
        Whether transfers progress in whole bytes at every event of a simulation, as in SimGrid's model of
        disks (semantics A5).
    capacity
        Maximum number of cached bytes (semantics A5a), > 0; None if unlimited.

    Raises
    ------
    PlatformError
        If a bandwidth or the capacity is not > 0, or `whole_bytes` is not a Boolean.
    """

    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    whole_bytes: bool = False
    capacity: float | None = None

    def __post_init__(self) -> None:
        if self.capacity is not None:
            rules.amount(self, "capacity", "bytes")
        rules.truth(self, "whole_bytes")


@dataclass(frozen=True)
class Host:
    """A host: a compute node, or an end point of storage traffic.

    Parameters
    ----------
    name
        Its name, unique among the hosts, routers and zones of the platform; empty for the nodes of a cluster.
    speed
        Flops per second of one core.
    cores
        The number of cores.
    gpus
        The number of GPUs.
    gpu_speed
        Flops per second of one GPU.
    gpu_bandwidth
        Bytes per second between two GPUs of the host.
    disk
        Its disk or burst buffer, if it has one.
    striping
        The flops per byte of striping, if the burst buffers of a job are striped over all of its nodes.
    storage_targets
        The storage hosts among which its traffic with the parallel file system is divided evenly; None for
        all.
    role
        ``"compute"`` (runs jobs), ``"storage"`` (an end point of the parallel file system),
        ``"burst_buffer"`` (a burst buffer shared by all nodes), ``"batch"`` (runs the batch system, and no
        jobs).
    properties
        Further properties from a file.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str = ""
    speed: Quantity = Quantity(SPEED, 0.0)
    cores: int = 1
    gpus: int = 0
    gpu_speed: Quantity = Quantity(SPEED, 0.0)
    gpu_bandwidth: Quantity = Quantity(BANDWIDTH, 0.0)
    disk: Disk | None = None
    striping: float | None = None
    storage_targets: tuple[str, ...] | None = None
    role: Role = "compute"
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        rules.name(self, empty=True)
        rules.count(self, "cores", 1)
        rules.count(self, "gpus")
        rules.check_instance(self, "disk", Disk, none=True)
        rules.choice(self, "role", _ROLES)
        if self.striping is not None:
            try:
                rules.set_field(self, "striping", SPEED.read(self.striping))
            except ValueError as broken:
                raise rules.refusal(self, "striping", self.striping, str(broken)) from None
            if self.disk is None:
                raise rules.refusal(self, "striping", self.striping, "needs a disk to stripe over; give one")
        if self.storage_targets is not None:
            rules.names(self, "storage_targets")
        rules.texts(self, "properties")

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        values = (getattr(self, each.name) for each in fields(self))
        return Host, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


@dataclass(frozen=True)
class Link:
    """A link.

    Parameters
    ----------
    name
        Its name, unique among the links of the platform.
    bandwidth
        Bytes per second.
    latency
        Seconds.
    sharing
        ``"shared"`` (flows share the bandwidth), ``"fat_pipe"`` (each flow has the full bandwidth), or
        ``"split_duplex"``: two links, ``NAME_UP`` and ``NAME_DOWN``, one per direction.

    Raises
    ------
    PlatformError
        If a field breaks its rule.
    """

    name: str
    bandwidth: Quantity = Quantity(BANDWIDTH, positive=True)
    latency: Quantity = Quantity(TIME, 0.0)
    sharing: Sharing = "shared"

    def __post_init__(self) -> None:
        rules.name(self)
        rules.choice(self, "sharing", SHARINGS)
