"""The header comments of a log: origin, time, and size of the machine."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Self

from batchlab.core import rules
from batchlab.core.vocabulary import GENERATOR
from batchlab.errors import WorkloadError

# A value begins after a blank. Otherwise the second line of "Information", a URL, would be a field "http".
_FIELD = re.compile(r";\s*([A-Za-z][\w /()-]{0,40}?)\s*:(?:\s+(.*))?", re.DOTALL)
_START = re.compile(r";\s*UnixStartTime\s*:", re.IGNORECASE)
_DIGITS = 15
_FARTHEST = 2**53
_ENTRY = re.compile(r"(-?\d{1,18})(?!\S)\s*(.*)", re.DOTALL)


_MARK = f"; {GENERATOR}"


class HeaderEntry(NamedTuple):
    """A queue or a partition: its number in the log's fields (None if missing) and its description."""

    number: int | None
    description: str


@dataclass(frozen=True)
class Header:
    """The comment lines of a log, and the values of their standard fields.

    All fields are parsed from ``lines``. A missing or invalid field is None or empty, and never an error.

    Parameters
    ----------
    lines
        The comment lines, without line ends; each begins with ``;``. The mark of files that batchlab wrote is
        removed: it describes the file, not the log.

    Examples
    --------
    >>> header = Header(("; MaxProcs: 240", "; Queue: 1 batch", "; Queue: 2 night"))
    >>> header.max_processors, header.queues[1].description
    (240, 'night')
    """

    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if _MARK in self.lines:
            object.__setattr__(self, "lines", tuple(line for line in self.lines if line != _MARK))

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Create a header from labels and values; a list or tuple of values becomes one line per value.

        Examples
        --------
        >>> Header.from_fields({"MaxProcs": 240, "Queue": ["1 batch", "2 night"]}).lines
        ('; MaxProcs: 240', '; Queue: 1 batch', '; Queue: 2 night')
        """
        texts = (f"{label}: {value}" for label, values in fields.items() for value in _each(values))
        return cls(tuple(f"; {line}" for text in texts for line in text.split("\n")))

    def with_start_time(self, seconds: float) -> Self:
        """Return a header with another ``UnixStartTime``: the origin of times, in seconds since 1970 UTC.

        Raises
        ------
        WorkloadError
            If the argument is no finite number of seconds within ±2^53.

        Examples
        --------
        >>> Header(("; MaxProcs: 8",)).with_start_time(1027839845).unix_start_time
        1027839845
        """
        rule = rules.Number(-_FARTHEST, most=_FARTHEST, unit="seconds since 1970 UTC")
        seconds = rules.check(WorkloadError, "start_time", seconds, rule)
        kept = [line for line in self.lines if not _START.match(line)]
        return type(self)((*kept, f"; UnixStartTime: {math.floor(seconds)}"))

    @cached_property
    def fields(self) -> Mapping[str, tuple[str, ...]]:
        """All ``Label: value`` fields by label, as spelled; a line without a label continues the value."""
        found: dict[str, list[list[str]]] = {}
        current: list[str] | None = None
        for line in self.lines:
            text = line.strip()
            if (field := _FIELD.fullmatch(text)) is not None:
                current = [(field[2] or "").strip()]
                found.setdefault(field[1], []).append(current)
            elif not text.strip("; \t"):
                current = None
            elif current is not None:
                current.append(text.lstrip(";").strip())
        return MappingProxyType({label: tuple(map("\n".join, values)) for label, values in found.items()})

    @property
    def version(self) -> str | None:
        """``Version``: version of the format."""
        return self._text("Version")

    @property
    def computer(self) -> str | None:
        """``Computer``: type of the machine."""
        return self._text("Computer")

    @property
    def installation(self) -> str | None:
        """``Installation``: site of the machine."""
        return self._text("Installation")

    @property
    def acknowledge(self) -> tuple[str, ...]:
        """``Acknowledge``: persons to acknowledge."""
        return self._texts("Acknowledge")

    @property
    def information(self) -> tuple[str, ...]:
        """``Information``: where to find more information."""
        return self._texts("Information")

    @property
    def conversion(self) -> str | None:
        """``Conversion``: author of the conversion."""
        return self._text("Conversion")

    @property
    def max_jobs(self) -> int | None:
        """``MaxJobs``: jobs in the original log."""
        return self._number("MaxJobs")

    @property
    def max_records(self) -> int | None:
        """``MaxRecords``: lines of jobs in this log."""
        return self._number("MaxRecords")

    @property
    def preemption(self) -> str | None:
        """``Preemption``: ``"No"``, ``"Yes"``, …."""
        return self._text("Preemption")

    @property
    def unix_start_time(self) -> int | None:
        """``UnixStartTime``: the origin of the log's times, in seconds since 1970 UTC."""
        return self._number("UnixStartTime")

    @property
    def time_zone(self) -> int | None:
        """``TimeZone``: seconds to add for local time (deprecated by the format)."""
        return self._number("TimeZone")

    @property
    def time_zone_string(self) -> str | None:
        """``TimeZoneString``, as in ``"Europe/Stockholm"``."""
        return self._text("TimeZoneString")

    @property
    def start_time(self) -> str | None:
        """``StartTime``: first time of the log, in the log's notation."""
        return self._text("StartTime")

    @property
    def end_time(self) -> str | None:
        """``EndTime``: last time of the log, in the log's notation."""
        return self._text("EndTime")

    @property
    def max_nodes(self) -> int | None:
        """``MaxNodes``: nodes of the machine."""
        return self._number("MaxNodes")

    @property
    def max_processors(self) -> int | None:
        """``MaxProcs``: processors of the machine."""
        return self._number("MaxProcs")

    @property
    def processor(self) -> Mapping[str, int]:
        """``Processor``: resources of one processor, as ``core=2``; one core if missing or invalid.

        Not a field of the format: `batchlab.generate.like` writes it, since its jobs request resources.
        """
        parts = [part.partition("=") for part in (self._text("Processor") or "").split(",")]
        amounts = {name.strip(): number.strip() for name, _, number in parts}
        if not all(
            name and number.isdecimal() and len(number) <= _DIGITS for name, number in amounts.items()
        ):
            return {"core": 1}
        return {name: int(number) for name, number in amounts.items() if int(number)} or {"core": 1}

    @property
    def max_run_time(self) -> int | None:
        """``MaxRuntime``: maximum run time, seconds."""
        return self._number("MaxRuntime")

    @property
    def max_memory(self) -> int | None:
        """``MaxMemory``: maximum memory, kB."""
        return self._number("MaxMemory")

    @property
    def allow_overuse(self) -> str | None:
        """``AllowOveruse``: whether jobs could use more than they requested."""
        return self._text("AllowOveruse")

    @property
    def max_queues(self) -> int | None:
        """``MaxQueues``: number of queues."""
        return self._number("MaxQueues")

    @property
    def queues(self) -> tuple[HeaderEntry, ...]:
        """``Queue``: each queue's number and name."""
        return self._entries("Queue")

    @property
    def max_partitions(self) -> int | None:
        """``MaxPartitions``: number of partitions."""
        return self._number("MaxPartitions")

    @property
    def partitions(self) -> tuple[HeaderEntry, ...]:
        """``Partition``: each partition's number and name."""
        return self._entries("Partition")

    @property
    def notes(self) -> tuple[str, ...]:
        """``Note``: further remarks, possibly of several lines."""
        return self._texts("Note")

    def node_sizes(self, processors: int | None = None) -> tuple[tuple[int, int], ...]:
        """Derive the number and the sizes of the machine's nodes.

        Parameters
        ----------
        processors
            Processors per node, if known. Otherwise ``MaxProcs`` is divided among ``MaxNodes`` as evenly as
            possible. Without ``MaxNodes`` each processor is a node.

        Returns
        -------
        tuple
            Pairs of a number of nodes and their processors, larger nodes first; empty if the header has no
            size.

        Examples
        --------
        >>> Header(("; MaxNodes: 4", "; MaxProcs: 8")).node_sizes()
        ((4, 2),)
        >>> Header(("; MaxNodes: 3", "; MaxProcs: 8")).node_sizes()
        ((2, 3), (1, 2))
        """
        nodes, total = max(self.max_nodes or 0, 0), max(self.max_processors or 0, 0)
        if not total:
            return ((nodes, processors),) if nodes and processors else ()
        if processors:
            return ((-(-total // processors), processors),)
        nodes = min(nodes, total) or total
        each, larger = divmod(total, nodes)
        sizes = ((larger, each + 1), (nodes - larger, each))
        return tuple((count, size) for count, size in sizes if count)

    @cached_property
    def _by_lowered_label(self) -> dict[str, tuple[str, ...]]:
        lowered: dict[str, tuple[str, ...]] = {}
        for label, values in self.fields.items():
            lowered[label.lower()] = lowered.get(label.lower(), ()) + values
        return lowered

    def _texts(self, label: str) -> tuple[str, ...]:
        return self._by_lowered_label.get(label.lower(), ())

    def _text(self, label: str) -> str | None:
        return next(iter(self._texts(label)), None)

    def _number(self, label: str) -> int | None:
        words = (self._text(label) or "").split()
        try:
            number = float(words[0]) if words else math.nan
        except ValueError:
            return None
        return int(number) if math.isfinite(number) else None

    def _entries(self, label: str) -> tuple[HeaderEntry, ...]:
        matches = ((text, _ENTRY.fullmatch(text)) for text in self._texts(label))
        return tuple(
            HeaderEntry(int(match[1]), match[2].strip()) if match else HeaderEntry(None, text)
            for text, match in matches
        )

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[str, ...]]]:
        # The cached fields are a read-only view, which cannot be pickled.
        return type(self), (self.lines,)


def _each(values: object) -> Iterable[object]:
    return values if isinstance(values, list | tuple) else (values,)
