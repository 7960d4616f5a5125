"""Read and describe batchlab's TOML format of platforms.

The document is a zone: its keys are those of `batchlab.platform.Zone`, and each table has the keys of the
part that it describes (`Host`, `Link`, `Cluster`, `Route`, `Ray`, `Zone`). Further keys are `read_links`,
`write_links`, and `storage`, which adds shared storage to the document's only cluster (`SharedStorage`)::

    name = "example"

    [[clusters]]
    name = "c"
    nodes = 16                        # or numbers = [0, 1, 2, 7]
    node = { speed = "1Tf", cores = 16, gpus = 4, gpu_speed = "20Tf", gpu_bandwidth = "50GBps" }
    bandwidth = "12.5GBps"
    latency = "1us"
    topology = { kind = "fat_tree", down = [4, 4], up = [1, 2], cables = [1, 2] }

    [[storage]]
    name = "PFS"
    read = "80GBps"
    write = "50GBps"
    latency = "5us"

Topologies are ``crossbar`` (optionally with a `backbone` link), ``fat_tree``, ``torus``, ``dragonfly``.
Without `nodes` and `numbers`, a cluster has as many nodes as its topology.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from batchlab.core import rules
from batchlab.core.documents import DocumentReader
from batchlab.core.form import Form, Reader
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.parts import (
    Cluster,
    Crossbar,
    Dragonfly,
    FatTree,
    Name,
    Names,
    SharedStorage,
    Topology,
    Torus,
    Zone,
    beside,
)
from batchlab.platform.platform import Platform

__all__ = ["platform", "recognises"]

_TOPOLOGIES: dict[str, type[Topology]] = {
    "crossbar": Crossbar,
    "fat_tree": FatTree,
    "torus": Torus,
    "dragonfly": Dragonfly,
}
_DOCUMENTS = DocumentReader(PlatformError)
_MOST_NODES = 2**20


def recognises(document: Mapping[str, object]) -> bool:
    """Return whether a parsed document is a platform: other formats do not have these keys."""
    return bool(document.keys() & {"clusters", "zones", "hosts", "links"})


def platform(content: bytes, name: str) -> Platform:
    """Create the platform of a document.

    Parameters
    ----------
    content
        The content of the file.
    name
        The name of the file in messages.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    PlatformError
        If the document is invalid; the message names the file, the path in the document, the value and the
        rule.
    """
    try:
        document = _DOCUMENTS.toml(_DOCUMENTS.text(content), neither="XML")
        return Reader(PlatformError, "a platform", forms=_FORMS).build(Platform, document)
    except PlatformError as error:
        raise PlatformError(f"{name}: {error}") from None
    except RecursionError:
        raise PlatformError(f"{name}: is nested too deeply. Is it the right file?") from None


@dataclass(frozen=True, kw_only=True)
class _Document(Zone):
    """A document: the root zone of a platform, storage links, and shared storage."""

    name: Name = "platform"
    read_links: Names = ()
    write_links: Names = ()
    storage: tuple[SharedStorage, ...] = ()

    def __post_init__(self) -> None:
        """Check nothing: the zone does."""

    def made(self) -> Platform:
        """Return the platform."""
        root = Zone(**_fields(self, Zone))
        if not self.storage:
            return Platform(root, self.name, self.read_links, self.write_links)
        has_more = root.hosts or root.routers or root.links or root.routes or root.rays
        if len(root.members) != 1 or not isinstance(root.members[0], Cluster) or has_more:
            raise PlatformError(
                "storage: is for documents of one cluster; describe zones and routes instead."
            )
        files = [each.name for each in self.storage if each.role == "storage"]
        return Platform(
            beside(root.members[0], self.storage),
            self.name,
            (*self.read_links, *(f"{each}_read" for each in files)),
            (*self.write_links, *(f"{each}_write" for each in files)),
        )


@dataclass(frozen=True, kw_only=True)
class _Cluster(Cluster):
    """A cluster in a document: with numbers of nodes, how many there are, or as many as its topology has."""

    numbers: Sequence[int] = ()
    nodes: Annotated[int, rules.Whole(1, _MOST_NODES)] | None = None

    def __post_init__(self) -> None:
        """Check nothing: the cluster does."""

    def made(self) -> Cluster:
        """Return the cluster."""
        given, nodes = self.numbers != (), self.topology.nodes if self.nodes is None else self.nodes
        if given and self.nodes is not None:
            raise PlatformError(f"nodes = {shown(self.nodes)}; keep nodes or numbers, not both.")
        if not given and nodes is None:
            raise PlatformError("nodes is missing; say how many nodes the cluster has.")
        numbers = self.numbers if given else range(nodes or 0)
        return Cluster(**{**_fields(self, Cluster), "numbers": numbers})


def _fields(part: object, kind: type[Any]) -> dict[str, Any]:
    return {each.name: getattr(part, each.name) for each in fields(kind)}


def _of_document(table: dict[str, Any]) -> tuple[type, dict[str, Any], dict[str, Any]]:
    return _Document, table, {}


def _of_cluster(table: dict[str, Any]) -> tuple[type, dict[str, Any], dict[str, Any]]:
    return _Cluster, _with_link(table, "loopback"), {}


def _of_topology(table: dict[str, Any]) -> tuple[type, dict[str, Any], dict[str, Any]]:
    kind = table.pop("kind", None)
    if kind not in _TOPOLOGIES:
        value = "is missing" if kind is None else f"= {shown(kind)}"
        raise PlatformError(f"kind {value}; must be a topology.{suggest(str(kind or ''), _TOPOLOGIES)}")
    return _TOPOLOGIES[kind], _with_link(table, "backbone"), {}


def _with_link(table: dict[str, Any], key: str) -> dict[str, Any]:
    """Name a link that belongs to a cluster after its key."""
    return {**table, key: {"name": key, **table[key]}} if isinstance(table.get(key), dict) else table


_FORMS: Mapping[type, Form] = {Platform: _of_document, Cluster: _of_cluster, Topology: _of_topology}
