"""Parse SimGrid's XML to elements with line numbers; check known elements and attributes.

Entity declarations are refused, so that input cannot expand during parsing; the DOCTYPE may name SimGrid's
DTD, which is never fetched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from batchlab.errors import PlatformError, shown, suggest

__all__ = ["Element", "parsed"]

_DEEPEST = 200
# A reference to a DTD without an internal subset.
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+platform(\s[^\[\]<>]*)?>")


@dataclass
class Element:
    """An element of the document."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def each(self, *tags: str) -> list[Element]:
        """Return the children with some tags, in order."""
        return [child for child in self.children if child.tag in tags]


@dataclass(frozen=True)
class _Kind:
    """The attributes and children that an element may have."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.required + self.optional


_ENDS = ("src", "dst")
_GATEWAYS = ("src", "dst", "gw_src", "gw_dst")
_NODES = ("id", "prefix", "suffix", "radical", "speed", "bw", "lat")
_ZONE = _Kind(
    ("id", "routing"),
    children=(
        *("prop", "AS", "zone", "cluster", "cabinet", "host", "router", "link", "backbone", "host_link"),
        *("route", "ASroute", "zoneRoute"),
    ),
)
_ZONE_ROUTE = _Kind(_GATEWAYS, ("symmetrical",), ("link_ctn",))
_CLUSTER_OPTIONS = (
    *("core", "sharing_policy", "topology", "topo_parameters", "bb_bw", "bb_lat", "bb_sharing_policy"),
    *("router_id", "limiter_link", "loopback_bw", "loopback_lat"),
)
_HOST_OPTIONS = ("core", "speed_file", "availability_file", "state_file", "coordinates", "pstate")
_LINK_OPTIONS = ("bandwidth_file", "latency", "latency_file", "state_file", "sharing_policy")
_KINDS = {
    "platform": _Kind((), ("version",), ("config", "AS", "zone", "cluster")),
    "config": _Kind((), ("id",), ("prop",)),
    "AS": _ZONE,
    "zone": _ZONE,
    "cluster": _Kind(_NODES, _CLUSTER_OPTIONS, ("prop",)),
    "cabinet": _Kind(_NODES),
    "host": _Kind(("id", "speed"), _HOST_OPTIONS, ("prop", "disk")),
    "disk": _Kind(("read_bw", "write_bw"), ("id",), ("prop",)),
    "router": _Kind(("id",), ("coordinates",)),
    "link": _Kind(("id", "bandwidth"), _LINK_OPTIONS, ("prop",)),
    "backbone": _Kind(("id", "bandwidth", "latency")),
    "host_link": _Kind(("id", "up", "down")),
    "route": _Kind(_ENDS, ("symmetrical",), ("link_ctn",)),
    "ASroute": _ZONE_ROUTE,
    "zoneRoute": _ZONE_ROUTE,
    "link_ctn": _Kind(("id",), ("direction",)),
    "prop": _Kind(("id", "value")),
}
_DEPLOYMENT = "is about a deployment; a platform file for batchlab has none"
_PROFILE = "is about profiles over time, which are not simulated; remove it"
_BYPASS = "is not simulated; give the route itself, or a zone of its own"
_REMOVED = "is no longer part of SimGrid; a host has a <disk>"
_UNSUPPORTED = {
    "actor": _DEPLOYMENT,
    "argument": _DEPLOYMENT,
    "bypassASroute": _BYPASS,
    "bypassRoute": _BYPASS,
    "bypassZoneRoute": _BYPASS,
    "include": "is no longer part of SimGrid; put everything into one file",
    "model_prop": "has no meaning; remove it",
    "mount": _REMOVED,
    "peer": "needs coordinates, which are not simulated; use a <host> with links",
    "process": _DEPLOYMENT,
    "random": "has no meaning; remove it",
    "storage": _REMOVED,
    "storage_type": _REMOVED,
    "trace": _PROFILE,
    "trace_connect": _PROFILE,
}


def parsed(content: bytes, name: str) -> Element:
    """Parse a document.

    Parameters
    ----------
    content
        The content of the file.
    name
        The name of the file in messages.

    Returns
    -------
    Element
        ``<platform>``; all elements and attributes in it are known.

    Raises
    ------
    PlatformError
        If the document is invalid; the message names file and line.
    """
    reader = _Reader(name)
    try:
        # With a DTD, expat ignores unknown entities, since the DTD might declare them. The DTD is never read,
        # so remove it and make unknown entities errors.
        reader.parser.Parse(_DOCTYPE.sub(_blank, content, count=1), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise PlatformError(f"{name}:{error.lineno}: is not XML: {reason} (column {error.offset}).") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, PlatformError):
            raise
        raise PlatformError(f"{name}:1: has an encoding that cannot be read: {error}. Use UTF-8.") from None
    if reader.root is None:
        raise PlatformError(f"{name}:1: has no elements; a description begins with <platform>.")
    return reader.root


def _blank(match: re.Match[bytes]) -> bytes:
    """Return the same number of line ends."""
    return b"\n" * match[0].count(b"\n")


class _Reader:
    """The event handlers of expat."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: Element | None = None
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._reference
        self.parser.SkippedEntityHandler = self._skipped

    def _refuse(self, rule: str) -> PlatformError:
        return PlatformError(f"{self.name}:{self.parser.CurrentLineNumber}: {rule}.")

    def _doctype(self, root: str, _system: str | None, _public: str | None, internal: int) -> None:
        if internal:
            raise self._refuse(
                "the DOCTYPE declares things of its own; keep only the reference to simgrid.dtd"
            )
        if root != "platform":
            raise self._refuse(f"the DOCTYPE is {shown(root)}; must be platform")

    def _entity(self, entity: str, *_: object) -> None:
        raise self._refuse(f"declares the entity {shown(entity)}; write out what it stands for")

    def _reference(self, *_: object) -> int:
        raise self._refuse("refers to an external entity; nothing is fetched")

    def _skipped(self, entity: str, _is_parameter: object) -> None:
        raise self._refuse(f"refers to the unknown entity {shown(entity)}; write out what it stands for")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1] if self.open else None
        self._check_place(tag, parent)
        self._check_attributes(tag, attributes)
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)
        if len(self.open) > _DEEPEST:
            raise self._refuse("is nested too deeply. Is it the right file?")

    def _end(self, _tag: str) -> None:
        self.open.pop()

    def _text(self, text: str) -> None:
        if text.strip():
            raise self._refuse(f"the text {shown(text.strip())} means nothing here; remove it")

    def _check_place(self, tag: str, parent: Element | None) -> None:
        if parent is None:
            if tag != "platform":
                raise self._refuse(f"the first element is <{_tag(tag)}>; must be <platform>")
            return
        if tag in _UNSUPPORTED:
            raise self._refuse(f"<{tag}> {_UNSUPPORTED[tag]}")
        allowed = _KINDS[parent.tag].children
        if tag in allowed:
            return
        if tag in _KINDS:
            inside = f"it may have {', '.join(allowed)}" if allowed else "it is empty"
            raise self._refuse(f"<{tag}> may not be in <{parent.tag}>; {inside}")
        question = suggest(tag, _KINDS).rstrip(".")
        raise self._refuse(f"<{_tag(tag)}> is no element of a platform.{question}")

    def _check_attributes(self, tag: str, attributes: dict[str, str]) -> None:
        kind = _KINDS[tag]
        for name in attributes:
            if name not in kind.attributes:
                question = suggest(name, kind.attributes).rstrip(".")
                raise self._refuse(f"<{tag}> has no attribute {shown(name)}.{question}")
        for name in kind.required:
            if name not in attributes:
                raise self._refuse(f"<{tag}> lacks the attribute {name}")


def _tag(tag: str) -> str:
    """Show a tag, shortened if it is long."""
    return shown(tag).strip("'")
