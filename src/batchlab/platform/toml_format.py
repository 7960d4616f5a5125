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

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from batchlab.core import rules
from batchlab.core.documents import DocumentReader
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.parts import (
    Cluster,
    Crossbar,
    Disk,
    Dragonfly,
    FatTree,
    Host,
    Link,
    Ray,
    Route,
    SharedStorage,
    Topology,
    Torus,
    Zone,
    beside,
)
from batchlab.platform.plan import MisfitError
from batchlab.platform.platform import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["platform", "recognises"]

_T = TypeVar("_T")
_Table = dict[str, Any]

_TOPOLOGIES: dict[str, type[Topology]] = {
    "crossbar": Crossbar,
    "fat_tree": FatTree,
    "torus": Torus,
    "dragonfly": Dragonfly,
}
_OF_PLATFORM = ("read_links", "write_links", "storage")
_DOCUMENTS = DocumentReader(PlatformError)
_DEEPEST = 100
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
    reader = _Reader()
    try:
        return reader.platform(_DOCUMENTS.toml(_DOCUMENTS.text(content), neither="XML"))
    except MisfitError as error:
        where = reader.places.get(id(error.part), "")
        raise PlatformError(f"{name}: {where}{': ' if where else ''}{error}") from None
    except PlatformError as error:
        raise PlatformError(f"{name}: {error}") from None
    except RecursionError:
        raise PlatformError(f"{name}: is nested too deeply. Is it the right file?") from None


class _Reader:
    """Creates parts from tables, and records the path of each."""

    def __init__(self) -> None:
        self.places: dict[int, str] = {}

    def platform(self, document: _Table) -> Platform:
        """Create the platform."""
        beside_root = {key: document.pop(key) for key in _OF_PLATFORM if key in document}
        _check_keys(document, {*_keys(Zone), *_OF_PLATFORM}, "")
        document.setdefault("name", "platform")
        storage = self._list(beside_root.pop("storage", []), "storage", self._plain(SharedStorage))
        root = self._zone(document, "", 0)
        name = root.name
        reading, writing = (_texts(beside_root.get(key, []), key) for key in ("read_links", "write_links"))
        if storage:
            root = self._with_storage(root, storage)
            files = [each.name for each in storage if each.role == "storage"]
            reading += tuple(f"{each}_read" for each in files)
            writing += tuple(f"{each}_write" for each in files)
        return Platform(root, name, reading, writing)

    def _with_storage(self, root: Zone, storage: tuple[SharedStorage, ...]) -> Zone:
        clusters = [member for member in root.members if isinstance(member, Cluster)]
        has_more = root.hosts or root.routers or root.links or root.routes or root.rays
        if len(clusters) != 1 or len(root.members) != 1 or has_more:
            raise PlatformError(
                "storage: is for documents of one cluster; describe zones and routes instead."
            )
        return beside(clusters[0], storage)

    def _zone(self, table: _Table, path: str, depth: int) -> Zone:
        if depth > _DEEPEST:
            raise PlatformError(f"{path}: is nested too deeply; zones go {_DEEPEST} deep.")
        below = f"{path}." if path else ""
        _check_keys(table, _keys(Zone), path)
        parts = dict(table)
        clusters = self._list(parts.pop("clusters", []), f"{below}clusters", self._cluster)
        zones = self._list(
            parts.pop("zones", []), f"{below}zones", lambda inner, place: self._zone(inner, place, depth + 1)
        )
        kinds: Mapping[str, type[object]] = {"hosts": Host, "links": Link, "routes": Route, "rays": Ray}
        for key, kind in kinds.items():
            if key in parts:
                make = self._host if kind is Host else self._plain(kind)
                parts[key] = self._list(parts[key], f"{below}{key}", make)
        return self._made(Zone, {**parts, "members": (*clusters, *zones)}, path)

    def _cluster(self, table: _Table, path: str) -> Cluster:
        _check_keys(table, _keys(Cluster), path)
        parts = dict(table)
        if "topology" in parts:
            parts["topology"] = self._topology(
                _table(parts["topology"], f"{path}.topology"), f"{path}.topology"
            )
        if "node" in parts:
            parts["node"] = self._host(_table(parts["node"], f"{path}.node"), f"{path}.node")
        if "loopback" in parts:
            parts["loopback"] = self._link("loopback", parts["loopback"], f"{path}.loopback")
        nodes = parts.pop("nodes", None)
        if "numbers" not in parts:
            parts["numbers"] = range(self._nodes(nodes, parts.get("topology"), path))
        elif nodes is not None:
            raise PlatformError(f"{path}.nodes = {shown(nodes)}; keep nodes or numbers, not both.")
        return self._made(Cluster, parts, path)

    def _nodes(self, given: object, topology: Topology | None, path: str) -> int:
        nodes = given if given is not None else topology and topology.nodes
        if nodes is None:
            raise PlatformError(f"{path}: nodes is missing; say how many nodes the cluster has.")
        return rules.check(PlatformError, f"{path}.nodes", nodes, rules.Whole(1, _MOST_NODES))

    def _topology(self, table: _Table, path: str) -> Topology:
        parts = dict(table)
        kind = parts.pop("kind", None)
        if not isinstance(kind, str) or kind not in _TOPOLOGIES:
            question = (
                suggest(kind, _TOPOLOGIES) if isinstance(kind, str) else f" Known: {', '.join(_TOPOLOGIES)}."
            )
            raise PlatformError(f"{path}.kind = {shown(kind)}; is no topology.{question}")
        if "backbone" in parts:
            parts["backbone"] = self._link("backbone", parts["backbone"], f"{path}.backbone")
        _check_keys(parts, _keys(_TOPOLOGIES[kind]), path)
        return self._made(_TOPOLOGIES[kind], parts, path)

    def _host(self, table: _Table, path: str) -> Host:
        _check_keys(table, _keys(Host), path)
        parts = dict(table)
        if "disk" in parts:
            parts["disk"] = self._plain(Disk)(_table(parts["disk"], f"{path}.disk"), f"{path}.disk")
        return self._made(Host, parts, path)

    def _link(self, name: str, value: object, path: str) -> Link:
        """Create a link that is named after its cluster."""
        return self._plain(Link)({"name": name, **_table(value, path)}, path)

    def _plain(self, kind: type[_T]) -> Callable[[_Table, str], _T]:
        def make(table: _Table, path: str) -> _T:
            _check_keys(table, _keys(kind), path)
            return self._made(kind, table, path)

        return make

    def _list(self, value: object, path: str, make: Callable[[_Table, str], _T]) -> tuple[_T, ...]:
        if not isinstance(value, list):
            rule = f"must be a list of tables; write [[{path}]] before each"
            raise PlatformError(f"{path} = {shown(value)}; {rule}.")
        return tuple(make(_table(each, f"{path}[{at}]"), f"{path}[{at}]") for at, each in enumerate(value))

    def _made(self, kind: type[_T], table: _Table, path: str) -> _T:
        """Create a part from a table whose keys are its fields."""
        try:
            part = kind(**table)
        except PlatformError as error:
            raise PlatformError(f"{path}: {error}" if path else str(error)) from None
        except TypeError as error:
            missing = str(error).partition("argument")[2].lstrip("s: ")
            raise PlatformError(f"{path or 'document'}: {missing} is missing; add it.") from None
        self.places[id(part)] = path
        return part


def _table(value: object, path: str) -> _Table:
    if not isinstance(value, dict):
        raise PlatformError(f"{path} = {shown(value)}; must be a table of keys and values.")
    return value


def _keys(kind: type[object]) -> set[str]:
    """Return the keys in the table of a part."""
    keys = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    if kind is Zone:
        return keys - {"members"} | {"clusters", "zones"}
    return keys | {"nodes"} if kind is Cluster else keys


def _check_keys(table: _Table, keys: set[str], path: str) -> None:
    for key, value in table.items():
        if key not in keys:
            where = f"{path}.{key}" if path else shown(key).strip("'")
            raise PlatformError(f"{where} = {shown(value)}; is no key here.{suggest(key, keys)}")


def _texts(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PlatformError(f"{path} = {shown(value)}; must be a list of names.")
    return tuple(value)
