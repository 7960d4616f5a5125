"""The properties of hosts: those of ElastiSim, and an additional one.

| property | meaning |
|---|---|
| `batch_system` | true: the host runs the batch system, and no job |
| `pfs_host` | true: the host is an end point of the parallel file system |
| `pfs_targets` | comma-separated names of such hosts: the destinations of this host's traffic |
| `num_gpus`, `flops_per_gpu`, `gpu_to_gpu_bw` | GPUs per node; as ElastiSim does, fractions are cut off |
| `node_local_bb`, `bb_read_bw`, `bb_write_bw` | true: the node has a burst buffer with these bandwidths |
| `wide_striping`, `flops_per_byte` | true: burst buffers are striped over a job's nodes, at this cost |
| `burst_buffer_host` | true: the host is a burst buffer shared by all nodes (batchlab only) |

All other properties are kept unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from batchlab.errors import PlatformError, shown
from batchlab.platform.hardware import Disk
from batchlab.platform.quantities import BANDWIDTH, SPEED, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["host_fields"]

_ROLES = {"batch_system": "batch", "pfs_host": "storage", "burst_buffer_host": "burst_buffer"}
_MEANT = frozenset(_ROLES) | {
    *("pfs_targets", "num_gpus", "flops_per_gpu", "gpu_to_gpu_bw", "node_local_bb", "bb_read_bw"),
    *("bb_write_bw", "wide_striping", "flops_per_byte"),
}


class _Broken(Exception):  # noqa: N818  # caught in this module
    """A property breaks a rule."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(name, rule)
        self.problem = name, rule


def host_fields(
    properties: Mapping[str, str], disk: Disk | None
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Convert properties to fields of a `Host`.

    Parameters
    ----------
    properties
        The properties by name.
    disk
        The disk of the host, if any.

    Returns
    -------
    tuple
        The fields and None; if a property breaks a rule, an empty dictionary, and its name with the rule.
    """
    try:
        fields: dict[str, Any] = {**_gpus(properties), **_burst_buffer(properties, disk)}
        fields["role"] = _role(properties)
    except _Broken as broken:
        return {}, broken.problem
    if "pfs_targets" in properties:
        targets = (name.strip() for name in properties["pfs_targets"].split(","))
        fields["storage_targets"] = tuple(name for name in targets if name)
    fields["properties"] = {name: text for name, text in properties.items() if name not in _MEANT}
    return fields, None


def _role(properties: Mapping[str, str]) -> str:
    roles = [name for name in _ROLES if _is_true(properties, name)]
    if len(roles) > 1:
        raise _Broken(roles[1], f"cannot be true beside {roles[0]}; make them two hosts")
    return _ROLES[roles[0]] if roles else "compute"


def _gpus(properties: Mapping[str, str]) -> dict[str, Any]:
    text = properties.get("num_gpus", "0").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):  # noqa: PLR2004  # below 10^9
        raise _Broken("num_gpus", f"= {shown(text)}; must be a whole number")
    gpus = int(text)
    if gpus == 0:
        return {}
    fields: dict[str, Any] = {
        "gpus": gpus,
        "gpu_speed": math.trunc(_needed(properties, "flops_per_gpu", SPEED)),
    }
    if gpus > 1:
        fields["gpu_bandwidth"] = math.trunc(_needed(properties, "gpu_to_gpu_bw", BANDWIDTH))
    return fields


def _burst_buffer(properties: Mapping[str, str], disk: Disk | None) -> dict[str, Any]:
    if not _is_true(properties, "node_local_bb"):
        return {"disk": disk}
    if disk is not None:
        raise _Broken("node_local_bb", "is true, but the host has a disk; keep one of them")
    read, write = (_needed(properties, name, BANDWIDTH) for name in ("bb_read_bw", "bb_write_bw"))
    try:
        fields: dict[str, Any] = {"disk": Disk(read, write)}
    except PlatformError as error:
        raise _Broken("node_local_bb", f"makes no disk: {str(error).rstrip('.')}") from None
    if _is_true(properties, "wide_striping"):
        fields["striping"] = _needed(properties, "flops_per_byte", SPEED)
    return fields


def _needed(properties: Mapping[str, str], name: str, unit: Unit) -> float:
    """Parse a required quantity."""
    if name not in properties:
        raise _Broken(name, "is missing; the properties that are there need it")
    try:
        return unit.read(properties[name])
    except ValueError as broken:
        raise _Broken(name, f"= {shown(properties[name])}; {broken}") from None


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    text = properties.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise _Broken(name, f"= {shown(properties[name])}; must be true or false")
    return text == "true"
