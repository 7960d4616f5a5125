"""The syntax of Slurm's files: lines with keys, and their values.

The message has the rule and the next step. The reader of the file adds file, line, key and value.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from batchlab.core.documents import DocumentReader, shown_path
from batchlab.errors import SystemDescriptionError, one_line
from batchlab.workload.logs.node_events import hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "KINDS",
    "YEAR",
    "Mended",
    "Place",
    "amount",
    "bounded_seconds",
    "count",
    "host_names",
    "joined",
    "lines_of",
    "minutes",
    "names",
    "number",
    "options",
    "plugin",
    "refuse",
    "seconds",
    "separated",
    "text_of",
    "tres",
    "truth",
]

MOST_HOSTS = 65_536
"""Slurm's maximum number of nodes."""
YEAR = 31_536_000
"""A number of seconds that is equivalent to no bound."""

_UNLIMITED = frozenset({"unlimited", "infinite", "-1"})
_TRUE = frozenset({"yes", "true", "up", "1"})
_FALSE = frozenset({"no", "false", "down", "0"})
_LARGEST = 2**64 - 1
_DURATION = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?")
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTP])?B?", re.IGNORECASE)
_SUFFIXES = {letter: 1024**power for power, letter in enumerate("KMGTP", 1)}
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_RANGES = re.compile(r"\s*\d{1,9}(?:-\d{1,9})?(?:\s*,\s*\d{1,9}(?:-\d{1,9})?)*\s*")
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


def bounded_seconds(given: float) -> int:
    """Convert minutes to seconds, at most a year."""
    return int(min(given * _MINUTE, YEAR))


def count(text: str) -> float:
    """Parse a whole number >= 0; infinite for UNLIMITED, INFINITE and -1."""
    if text.lower() in _UNLIMITED:
        return math.inf
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(_LARGEST)) or int(text) > _LARGEST:
        raise ValueError("must be a whole number from 0, or UNLIMITED")
    return int(text)


def number(text: str) -> float:
    """Parse a number."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number, as 0.5")
    return float(text)


def truth(text: str) -> bool:
    """Parse a Boolean."""
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError("must be YES or NO")
    return text.lower() in _TRUE


def seconds(text: str) -> float:
    """Parse a time, in seconds.

    Examples
    --------
    >>> seconds("30"), seconds("1:30"), seconds("1:00:00"), seconds("7-0"), seconds("1-12:00")
    (1800, 90, 3600, 604800, 129600)
    """
    if text.lower() in _UNLIMITED:
        return math.inf
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("must be minutes, or a time as 30:00, 12:00:00 or 1-12:00:00; or UNLIMITED")
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    given = int(first or 0)
    if days is not None:
        return days * _DAY + given * _HOUR + (second or 0) * _MINUTE + (third or 0)
    if third is not None:
        return given * _HOUR + (second or 0) * _MINUTE + third
    return given * _MINUTE + (second or 0)


def minutes(text: str) -> float:
    """Parse a time limit, in minutes; seconds are rounded up to whole minutes."""
    given = seconds(text)
    return given if math.isinf(given) else math.ceil(given / _MINUTE)


def plugin(text: str) -> str:
    """Return the name of a plug-in without its type: ``select/linear`` is ``linear``."""
    return text.rpartition("/")[2].lower()


def separated(text: str) -> tuple[str, ...]:
    """Split at commas outside of brackets, and strip blanks."""
    parts: list[str] = []
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in ")}]")
        if letter == "," and depth <= 0:
            parts.append(text[begin:at])
            begin = at + 1
    return tuple(part.strip() for part in (*parts, text[begin:]) if part.strip())


def names(text: str) -> tuple[str, ...]:
    """Parse a list of names."""
    return tuple(part for part in map(str.strip, text.replace("'", "").split(",")) if part)


def options(text: str) -> tuple[tuple[str, str | None], ...]:
    """Parse a list of options, each with its value or None."""
    found: list[tuple[str, str | None]] = []
    for part in separated(text):
        name, sign, value = part.partition("=")
        found.append((name.strip(), value.strip() if sign else None))
    return tuple(found)


def host_names(text: str) -> tuple[str, ...]:
    """Parse a host list, as ``n[1-8,10],login``."""
    found = hosts(text, most=MOST_HOSTS) if text.count("[") == text.count("]") else None
    if not found:
        raise ValueError(f"must be names of nodes, as n[1-8,12], of at most {MOST_HOSTS:,}")
    return tuple(found)


def amount(text: str) -> int:
    """Parse an amount with a suffix for powers of 1,024: ``4G`` is 4,294,967,296."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError("must be a whole number, or one with K, M, G, T or P")
    return int(float(match[1]) * _SUFFIXES[match[2].upper()]) if match[2] else int(float(match[1]))


def tres(text: str) -> Mapping[str, int | None]:
    """Parse amounts of resources, as ``cpu=28,mem=4G``: memory in MiB; None for -1, which removes a limit."""
    found: dict[str, int | None] = {}
    for name, value in options(text):
        if value is None:
            raise ValueError("must be resources with amounts, as cpu=28,gres/gpu=4")
        lower = name.lower()
        if value == "-1":
            found[lower] = None
        elif lower in {"mem", "vmem"} and value[-1:].isalpha():
            found[lower] = amount(value) // _SUFFIXES["M"]
        else:
            found[lower] = amount(value)
    return MappingProxyType(found)


def _weights(text: str) -> Mapping[str, float]:
    """Parse weights of resources; the weight of memory is converted to a weight per MiB."""
    found: dict[str, float] = {}
    for name, value in options(text):
        match = re.fullmatch(r"([-+0-9.eE]+)([KMGTP])?", value or "", re.IGNORECASE)
        if match is None:
            raise ValueError("must be resources with weights, as CPU=1.0,Mem=0.25G")
        weight = number(match[1])
        if match[2]:
            weight /= _SUFFIXES[match[2].upper()] / (_SUFFIXES["M"] if name.lower() == "mem" else 1)
        found[name.lower()] = weight
    return MappingProxyType(found)


def _ranges(text: str) -> tuple[int, ...]:
    """Parse numbers of CPUs or cores, as ``0,2-3``; enclosing brackets are ignored, as in Slurm."""
    inner = text.strip()
    text = inner[1:-1] if inner[:1] == "[" and inner[-1:] == "]" else text
    if not _RANGES.fullmatch(text):
        raise ValueError("must be numbers of CPUs, as 0-3,8")
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if int(last or first) < int(first) or int(last or first) >= MOST_HOSTS:
            raise ValueError("must be numbers of CPUs, as 0-3,8, in ascending order")
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))


KINDS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "text": str,
        "repeated": str,
        "count": count,
        "number": number,
        "truth": truth,
        "time": seconds,
        "minutes": minutes,
        "plugin": plugin,
        "names": names,
        "options": options,
        "hosts": str,
        "tres": tres,
        "weights": _weights,
        "ranges": _ranges,
    }
)
"""The parsers of values by type. Lists of hosts may contain node sets, and are parsed later."""


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; for several lines, the first."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_path(self.file)}:{self.line}"


def refuse(place: Place, rule: str) -> NoReturn:
    """Raise an error for a position."""
    raise SystemDescriptionError(f"{place}: {rule}")


@dataclass(frozen=True)
class Mended:
    """A correction that Slurm makes with a message, and its position."""

    place: Place
    says: str


_DOCUMENTS = DocumentReader(SystemDescriptionError, noun="configuration", most=16)
_COMMENT = re.compile(r"(?<!\\)#.*")
_INCLUDE = re.compile(r"include\s+(\S.*?)\s*", re.IGNORECASE)
_CLUSTER = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"#]+)", re.IGNORECASE)
_MOST_FILES = 1000
# Control characters that do not occur in text; line ends, form feeds and the DOS end of file are excluded.
_BINARY = re.compile(rb"[\x00-\x07\x0e-\x19\x1c-\x1f]")


def text_of(file: str) -> str:
    """Read a text file; invalid UTF-8, for example in comments and personal names, is replaced.

    Raises
    ------
    SystemDescriptionError
        If the file cannot be read, or is binary.
    """
    try:
        content = _DOCUMENTS.content(file)
    except SystemDescriptionError as error:
        raise SystemDescriptionError(f"{shown_path(file)}: {error}") from None
    if binary := _BINARY.search(content):
        found = f"is a binary file (byte {binary.start()} is {binary[0][0]})"
        raise SystemDescriptionError(
            f"{shown_path(file)}: {found}; Slurm's files are text. Give slurm.conf or its folder."
        )
    return content.decode("utf-8-sig", "replace")


def joined(text: str, file: str) -> Iterator[tuple[Place, str]]:
    """Yield the non-empty lines of a text, joined with the next line after a backslash."""
    begun, first = list[str](), 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).replace("\\#", "#").rstrip()
        first = first if begun else number
        if line.endswith("\\"):
            # A part without text does not begin a line.
            begun += filter(None, [line[:-1]])
            continue
        if whole := "".join([*begun, line]).strip():
            yield Place(file, first), whole
        begun = []
    if whole := "".join(begun).strip():
        yield Place(file, first), whole


def lines_of(file: str) -> Iterator[tuple[Place, str]]:
    """Yield the lines of a file, with the lines of included files in their places.

    Paths of included files are relative to the folder of the file; ``%c`` in them is the name of the cluster.
    An absolute path that does not exist belongs to another machine: its suffixes are looked up in the folder.

    Raises
    ------
    SystemDescriptionError
        If a file cannot be read, or includes itself.
    """
    cluster = _CLUSTER.search("\n".join(line for _, line in joined(text_of(file), file)))
    yield from _included(file, cluster[1].lower() if cluster else "", [file], [0])


def _included(file: str, cluster: str, path: list[str], count: list[int]) -> Iterator[tuple[Place, str]]:
    for place, line in joined(text_of(file), file):
        match = _INCLUDE.fullmatch(line)
        if match is None:
            yield place, line
            continue
        name = match[1].strip('"').replace("%c", cluster)
        target = _target(os.path.dirname(path[0]), name)  # noqa: PTH120  # keeps the path as written
        count[0] += 1
        if target in path or count[0] > _MOST_FILES:
            rule = "includes itself" if target in path else f"makes more than {_MOST_FILES} files"
            refuse(place, f"Include {one_line(name)} {rule}. Take one of the lines out.")
        if not os.path.isfile(target):  # noqa: PTH113  # as above
            refuse(place, f"Include {one_line(name)}: there is no file {shown_path(target)}. Put it there.")
        yield from _included(target, cluster, [*path, target], count)


def _target(folder: str, name: str) -> str:
    """Return the path of an included file; a missing absolute path is searched by suffixes in the folder."""
    target = os.path.join(folder, name)  # noqa: PTH118  # keeps the path as written
    if not os.path.isabs(name) or os.path.isfile(target):  # noqa: PTH113, PTH117  # as above
        return target
    parts = [part for part in name.split("/") if part]
    ends = (os.path.join(folder, *parts[begin:]) for begin in range(len(parts)))  # noqa: PTH118  # as above
    return next((each for each in ends if os.path.isfile(each)), target)  # noqa: PTH113  # as above
