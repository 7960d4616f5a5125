"""What platforms are made of: disks, hosts and links.

Speeds are flops per second, bandwidths bytes per second, times seconds; each may be a text with a unit, as
`batchlab.platform.quantities` reads it, and is held as a float.
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
    """A disk, or a burst buffer in the node.

    Parameters
    ----------
    read, write
        Bandwidths, bytes per second.
    whole_bytes
        Whether what is under way progresses in whole bytes at every event of a simulation, as in SimGrid's
        model of disks (semantics A5).
    capacity
        Bytes that it can hold of what is cached there (semantics A5a), > 0; None where that is not bounded.

    Raises
    ------
    PlatformError
        If a bandwidth or the capacity is not > 0, or `whole_bytes` neither True nor False.
    """

    read: Quantity = Quantity(BANDWIDTH, positive=True)
    write: Quantity = Quantity(BANDWIDTH, positive=True)
    whole_bytes: bool = False
    capacity: float | None = None

    def __post_init__(self) -> None:
        if self.capacity is not None:
            rules.amount(self, "capacity", "bytes")
        if not isinstance(self.whole_bytes, bool):
            raise rules.refusal(self, "whole_bytes", self.whole_bytes, "must be True or False")


@dataclass(frozen=True)
class Host:
    """A host: a compute node, or an end point of storage traffic.

    Parameters
    ----------
    name
        Its name, unique among the platform's hosts, routers and zones; empty for the nodes of a cluster.
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
        Where a job's burst buffers are striped over all of its nodes: the flops that this costs per byte.
    storage_targets
        The storage hosts that its traffic with the parallel file system goes to, evenly; None for all.
    role
        ``"compute"`` (runs jobs), ``"storage"`` (an end point of the parallel file system),
        ``"burst_buffer"`` (one that all nodes share), ``"batch"`` (runs the batch system; no job sees it).
    properties
        Whatever else a file says about it.

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
        rules.the(self, "disk", Disk, none=True)
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
        Its name, unique among the platform's links.
    bandwidth
        Bytes per second.
    latency
        Seconds.
    sharing
        ``"shared"`` (the flows share the bandwidth), ``"fat_pipe"`` (each flow has all of it), or
        ``"split_duplex"``: two links, ``NAME_UP`` and ``NAME_DOWN``, one for each way.

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
