"""Functions shared by the readers of SimGrid's elements: errors with lines, and parsing of attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.hardware import Disk, Link, Sharing
from batchlab.platform.properties import host_fields
from batchlab.platform.quantities import BANDWIDTH, TIME
from batchlab.platform.rules import LARGEST_COUNT, MOST_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.platform.document import Element

__all__ = ["SHARINGS", "WHOLE", "SimgridBuilder"]

_T = TypeVar("_T")

WHOLE = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
SHARINGS: dict[str, Sharing] = {
    "SHARED": "shared",
    "FATPIPE": "fat_pipe",
    "SPLITDUPLEX": "split_duplex",
    "FULLDUPLEX": "split_duplex",
}
_FILES = ("bandwidth_file", "latency_file", "state_file", "speed_file", "availability_file")


class SimgridBuilder:
    """Creates parts from elements, and records the line of each.

    Parameters
    ----------
    name
        The name of the file in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[int, int] = {}
        self.split_links: set[str] = set()

    def refusal(self, line: int, message: str) -> PlatformError:
        """Return an error with its position."""
        return PlatformError(f"{self.name}:{line}: {message}")

    def wrong(self, element: Element, attribute: str, value: object, rule: str) -> PlatformError:
        """Return the error for an attribute."""
        end = "" if rule.endswith(".") else "."
        return self.refusal(element.line, f"{attribute} = {shown(value)}; {rule}{end}")

    def made(self, element: Element, kind: Callable[..., _T], *values: object, **named: object) -> _T:
        """Create a part, and record its line."""
        try:
            part = kind(*values, **named)
        except PlatformError as error:
            raise self.refusal(element.line, str(error)) from None
        self.lines[id(part)] = element.line
        return part

    def node_fields(self, element: Element, disk: Disk | None) -> dict[str, Any]:
        """Parse the properties of a host, or those that a cluster defines for its hosts."""
        properties = {prop.attributes["id"]: prop.attributes["value"] for prop in element.each("prop")}
        lines = {prop.attributes["id"]: prop.line for prop in element.each("prop")}
        fields, problem = host_fields(properties, disk)
        if problem is not None:
            name, rule = problem
            raise self.refusal(lines.get(name, element.line), f"property {name} {rule}.")
        return fields

    def speed(self, element: Element) -> str:
        """Return the speed of a host in its initial state."""
        speeds = element.attributes["speed"].split(",")
        state = element.attributes.get("pstate", "0").partition(".")[0]
        if not WHOLE.fullmatch(state) or int(state) >= len(speeds):
            rule = f"must be the number of one of the {len(speeds)} speeds, from 0"
            raise self.wrong(element, "pstate", state, rule)
        return speeds[int(state)].strip()

    def cores(self, element: Element) -> int:
        """Parse the number of cores."""
        return self.whole(element, "core", element.attributes.get("core", "1"))

    def whole(self, element: Element, attribute: str, text: str) -> int:
        """Parse a whole number."""
        if not WHOLE.fullmatch(text) or int(text) > LARGEST_COUNT:
            raise self.wrong(element, attribute, text, f"must be a whole number from 0 to {LARGEST_COUNT}")
        return int(text)

    def radical(self, element: Element) -> tuple[int, ...]:
        """Parse the numbers of hosts: ``"0-3,7"``."""
        text, numbers = element.attributes["radical"], list[int]()
        for part in text.split(","):
            ends = part.split("-")
            if len(ends) not in (1, 2):
                raise self.wrong(element, "radical", text, "must be like 0-3,7")
            first, last = (self.whole(element, "radical", end) for end in (ends[0], ends[-1]))
            if last < first or len(numbers) + last - first >= MOST_NUMBERS:
                rule = f"each range must go upwards, over {MOST_NUMBERS} hosts at most"
                raise self.wrong(element, "radical", text, rule)
            numbers += range(first, last + 1)
        return tuple(numbers)

    def check_files(self, element: Element) -> None:
        """Raise for profiles over time."""
        for name in _FILES:
            if element.attributes.get(name):
                rule = "profiles over time are not simulated; remove it"
                raise self.wrong(element, name, element.attributes[name], rule)

    def sharing(
        self, element: Element, attribute: str, default: str, known: dict[str, Sharing] = SHARINGS
    ) -> Sharing:
        """Parse the sharing policy of a link."""
        word = element.attributes.get(attribute, default)
        if word not in known:
            raise self.wrong(element, attribute, word, f"is not simulated.{suggest(word, known)}")
        return known[word]

    def quantity(self, element: Element, attribute: str, read: Callable[[object], float]) -> float:
        """Parse a quantity; 0 if the attribute is empty or missing."""
        text = element.attributes.get(attribute, "")
        try:
            return read(text) if text else 0.0
        except ValueError as broken:
            raise self.wrong(element, attribute, text, str(broken)) from None

    def optional_link(
        self, element: Element, prefix: str, name: str, sharing: Sharing = "shared"
    ) -> Link | None:
        """Create a link if the element has a bandwidth or a latency for it."""
        bandwidth = self.quantity(element, f"{prefix}_bw", BANDWIDTH.read)
        latency = self.quantity(element, f"{prefix}_lat", TIME.read)
        if not bandwidth and not latency:
            return None
        return self.made(element, Link, name, bandwidth, latency, sharing)
