"""Generic resources of virtual nodes: devices that exist by number, or as empty files."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from batchlab.slurm.configuration.nodes import GenericResource
    from batchlab.slurm.virtual.configuration import Configuration, Node

__all__ = ["device_lines", "kinds_line"]

_KINDS = "GresTypes"
# Slurm's plug-ins for these only count the device files of a node.
_WITH_FILES = frozenset({"gpu", "nic"})


def kinds_line(configuration: Configuration, nodes: Sequence[Node]) -> list[str]:
    """Return the GresTypes line for the resources of the nodes; empty if the configuration has one."""
    names = dict.fromkeys(device.name for node in nodes for device in node.gres)
    return [f"{_KINDS}={','.join(names)}"] if names and _KINDS.lower() not in configuration.settings else []


def device_lines(folder: Path, nodes: Sequence[Node]) -> list[str]:
    """Return the lines of ``gres.conf``, and create the device files.

    Parameters
    ----------
    folder
        The folder for the device files; created if needed.
    nodes
        The nodes; consecutive equal nodes share one line.
    """
    lines = []
    for gres, each in groupby(nodes, lambda node: node.gres):
        names = ",".join(node.name for node in each)
        lines += [f"NodeName={names} {text}" for device in gres for text in _described(folder, device)]
    return lines


def _described(folder: Path, device: GenericResource) -> Iterator[str]:
    """Yield the lines for a resource of a node; nothing if its count is 0."""
    if not device.count:
        return
    kind = f"Name={device.name}" + (f" Type={device.type}" if device.type else "")
    if device.name not in _WITH_FILES:
        yield f"{kind} Count={device.count}"
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    stem = "-".join(filter(None, (device.name, device.type)))
    for number in range(device.count):
        (folder / f"{stem}-{number}").touch()
    yield f"{kind} File={folder}/{stem}-[0-{device.count - 1}]"
