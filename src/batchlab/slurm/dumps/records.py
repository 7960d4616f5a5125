"""Dumps as records: their files, as JSON or text, and errors that name file, record, field and value.

Numbers of JSON are read in all forms of the releases 22.05 to 26.05; text is that of ``scontrol show`` (keys
and values) and tables with ``|``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from batchlab.core.documents import DocumentReader, shown_path
from batchlab.core.rules import number_of
from batchlab.errors import DumpError, WorkloadError, one_line, shown
from batchlab.slurm.configuration.values import amount, host_names
from batchlab.workload.logs.clock import check_zone, instants
from batchlab.workload.logs.quantities import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

__all__ = [
    "LARGEST_WHOLE",
    "JsonRecord",
    "Place",
    "Source",
    "TextRecord",
    "blocks",
    "checked_zone",
    "delimited",
    "gres_of",
    "read_source",
    "records_of",
    "release_of",
    "with_times",
]

_MOST_MEBIBYTES = 1024
_AGAIN = "Write the dump again"


@dataclass(frozen=True)
class Place:
    """A record of a dump: its file, and how messages name it."""

    file: str
    record: str

    def refuse(self, field: str, value: object, rule: str) -> NoReturn:
        """Raise the error of a field that breaks a rule."""
        raise DumpError(
            f"{self.file}: {self.record}: {one_line(field)} = {shown(value)}; {rule}. {_AGAIN}."
        ) from None

    def lacks(self, field: str) -> NoReturn:
        """Raise the error of a missing field."""
        raise DumpError(f"{self.file}: {self.record}: has no {one_line(field)}. {_AGAIN}.") from None

    def hosts(self, field: str, text: str) -> tuple[str, ...]:
        """Return the names in a host list."""
        try:
            return host_names(text)
        except ValueError as broken:
            self.refuse(field, text, str(broken))


@dataclass(frozen=True)
class Source:
    """The contents of a file: a JSON object, or text."""

    file: str
    text: str
    document: Mapping[str, object] | None

    def refuse(self, rule: str) -> NoReturn:
        """Raise the error of a whole file."""
        raise DumpError(f"{self.file}: {rule}") from None


def read_source(path: str | os.PathLike[str], noun: str, commands: str) -> Source:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    noun
        Name of its contents, such as ``"jobs"``.
    commands
        The commands that write such a file, for messages.

    Raises
    ------
    DumpError
        If the file cannot be read, is no UTF-8 text, or begins as JSON and is not.
    """
    try:
        file = os.fsdecode(path)
    except TypeError:
        raise DumpError(f"{noun} = {shown(path)}; must be the path of a dump by {commands}.") from None
    reader = DocumentReader(DumpError, noun="dump", most=_MOST_MEBIBYTES)
    try:
        text = reader.text(reader.content(file))
        document = reader.json(text) if text.lstrip()[:1] in {"{", "["} else None
    except DumpError as error:
        raise reader.named(file, error) from None
    source = Source(shown_path(file), text, None)
    if document is None:
        if not text.strip():
            source.refuse(f"is empty. Write it again by {commands}.")
        return source
    if not isinstance(document, dict):
        source.refuse(f"is a list; the dump is an object. Write it again by {commands}.")
    if errors := document.get("errors"):
        source.refuse(f"Slurm could not write it: errors = {shown(errors)}. Write it again by {commands}.")
    return Source(source.file, "", document)


def release_of(source: Source) -> str:
    """Return the release of Slurm that a JSON dump names; empty if it names none."""
    meta = None if source.document is None else source.document.get("meta")
    if isinstance(meta, dict):
        for name in ("slurm", "Slurm"):
            slurm = meta.get(name)
            if isinstance(slurm, dict) and isinstance(slurm.get("release"), str):
                return one_line(slurm["release"])
    return ""


LARGEST_WHOLE = 2**40
"""The largest whole number that a dump may have; no number of a job, priority or amount in MiB is larger."""

_LARGEST = 2.0**53
# Values of C programs that stand for "not set" and "infinite", in 32 and 64 bits.
_LEAST_MARK = 2**32 - 2
_NOT_SET = frozenset({2**32 - 2, 2**64 - 2})
_INFINITE = frozenset({2**32 - 1, 2**64 - 1})
_NO_TEXT = frozenset({"", "(null)", "N/A", "n/a", "none", "None"})
_NUMBER = 'must be a number, null, "Infinity", or an object with set, infinite and number'


@dataclass(frozen=True)
class JsonRecord:
    """An object of a dump, with its place."""

    place: Place
    values: Mapping[str, object]
    path: str = ""

    def number(self, *names: str, least: float = 0) -> float | None:
        """Return the first of these fields that is set: a number, infinite, or None."""
        for name in names:
            value = self.values.get(name)
            found = self._number(name, value)
            if found is not None:
                if found < least:
                    self.place.refuse(self.path + name, value, f"must be a number from {least:g}")
                return found
        return None

    def _number(self, name: str, value: object) -> float | None:
        if isinstance(value, dict):
            if value.get("infinite") is True:
                return math.inf
            if value.get("set") is False:
                return None
            if "number" not in value:
                self.place.refuse(self.path + name, value, _NUMBER)
            value = value["number"]
        # Most fields are plain numbers, or null.
        if value is None or (type(value) is int and abs(value) < _LEAST_MARK):
            return value
        if isinstance(value, str) and value.lower() in {"infinity", "infinite", "unlimited"}:
            return math.inf
        if isinstance(value, int) and value in _NOT_SET | _INFINITE:
            return math.inf if value in _INFINITE else None
        number = number_of(value)
        if number is None or abs(number) > _LARGEST:
            self.place.refuse(self.path + name, value, _NUMBER)
        return number

    def whole(self, *names: str, least: int = 0) -> int | None:
        """Return the first of these fields that is set, as a whole number; None if infinite or not set."""
        number = self.number(*names, least=least)
        if number is None or math.isinf(number):
            return None
        if number != int(number) or number > LARGEST_WHOLE:
            rule = f"must be a whole number of at most {LARGEST_WHOLE:,}"
            self.place.refuse(self.path + names[0], number, rule)
        return int(number)

    def time(self, name: str) -> float | None:
        """Return a time, seconds since 1970 UTC; None if it is 0, infinite, or not set."""
        number = self.number(name)
        return None if number is None or math.isinf(number) or number == 0 else number

    def text(self, *names: str) -> str:
        """Return the first of these texts that is not empty; empty if there is none."""
        for name in names:
            value = self.values.get(name)
            if value is not None and not isinstance(value, str):
                self.place.refuse(self.path + name, value, "must be a text")
            if value is not None and value.strip() not in _NO_TEXT:
                return value.strip()
        return ""

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a field: a list of texts, or a text with commas."""
        value = self.values.get(name)
        if value is None:
            return ()
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self.place.refuse(self.path + name, value, "must be a list of texts")
        return tuple(each.strip() for each in given if each.strip() not in _NO_TEXT)

    def truth(self, name: str) -> bool | None:
        """Return a truth value; None if it is missing."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.place.refuse(self.path + name, value, "must be true or false")
        return value

    def hosts(self, name: str) -> tuple[str, ...]:
        """Return the names in a host list."""
        text = self.text(name)
        return self.place.hosts(self.path + name, text) if text else ()

    def part(self, name: str) -> JsonRecord | None:
        """Return the object in a field; None if it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.place.refuse(self.path + name, value, "must be an object")
        return JsonRecord(self.place, value, f"{self.path}{name}.")

    def parts(self, name: str) -> Iterator[JsonRecord]:
        """Yield the objects of a list; none if the field is missing or null."""
        value = self.values.get(name)
        if value is None:
            return
        if not isinstance(value, list):
            self.place.refuse(self.path + name, value, "must be a list of objects")
        for at, each in enumerate(value):
            if not isinstance(each, Mapping):
                self.place.refuse(f"{self.path}{name}[{at}]", each, "must be an object")
            yield JsonRecord(self.place, each, f"{self.path}{name}[{at}].")


def records_of(source: Source, key: str, label: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the position and the object of each record.

    Parameters
    ----------
    source
        A JSON dump.
    key
        The list of the records.
    label
        Noun of a record in messages.

    Raises
    ------
    DumpError
        If it is no list of objects.
    """
    values = (source.document or {}).get(key)
    if not isinstance(values, list):
        source.refuse(f"{key} must be a list of {label}s. Write the dump again.")
    for at, each in enumerate(values):
        if not isinstance(each, Mapping):
            source.refuse(f"{key}[{at}] must be an object. Write the dump again.")
        yield at, each


_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w/:.]*)=")
# These values are text of users, may have blanks and equal signs, and end with their line.
_FREE = frozenset(
    {"JobName", "Command", "Comment", "AdminComment", "SystemComment", "WorkDir", "Reason", "OS"}
)
_NONE = _NO_TEXT | {"*"}
_UNLIMITED = frozenset({"UNLIMITED", "INFINITE"})
_OF_PARTITION = frozenset({"PARTITION_LIMIT", "NOT_SET", "INVALID", "", "(NULL)", "N/A", "NONE"})
_DETAIL = re.compile(r"(?:^|\s)Nodes=(\S+) CPU_IDs=(\S+) Mem=")
_MEBIBYTE = 2**20
_TIME = "must be a time as 2024-03-01T10:00:00 or seconds since 1970; unset SLURM_TIME_FORMAT"
_DURATION = "must be a time as 30:00, 12:00:00 or 1-12:00:00; or UNLIMITED"


@dataclass
class TextRecord:
    """A record with its place; its times and durations are parsed for all records at once."""

    place: Place
    values: dict[str, str]
    times: dict[str, float | None] = field(default_factory=dict)
    spans: dict[str, float | None] = field(default_factory=dict)
    details: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """Nodes and CPU numbers of ``scontrol --details``."""

    def text(self, *names: str) -> str:
        """Return the first of these values that is not empty; empty if there is none."""
        for name in names:
            value = self.values.get(name, "").strip()
            if value not in _NONE:
                return value
        return ""

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a value, which are separated by commas."""
        return tuple(each.strip() for each in self.text(name).split(",") if each.strip())

    def whole(self, *names: str, least: int = 0) -> int | None:
        """Return a whole number; Slurm writes 2048 as 2K too. None if it is missing."""
        return self.range(*names, least=least)[0]

    def range(self, *names: str, least: int = 0) -> tuple[int | None, int | None]:
        """Return the ends of a range as ``2-4``; the second is None for a single number."""
        name = next((each for each in names if self.text(each)), names[0])
        text = self.text(name)
        if not text:
            return None, None
        first, _, last = text.partition("-") if text[:1] != "-" else (text, "", "")
        try:
            found = _whole(first), _whole(last) if last else None
        except ValueError:
            self.place.refuse(name, text, "must be a whole number")
        if found[0] < least or max(found[0], found[1] or 0) > LARGEST_WHOLE:
            self.place.refuse(name, text, f"must be a whole number from {least} to {LARGEST_WHOLE:,}")
        return found

    def memory(self, name: str) -> int | None:
        """Return an amount of memory, MiB; a number without a unit is in MiB."""
        text = self.text(name)
        if not text:
            return None
        rule = "must be an amount of memory as 900M or 4G"
        try:
            found = amount(text if text[-1:].isalpha() else f"{text}M") // _MEBIBYTE
        except ValueError:
            self.place.refuse(name, text, rule)
        return found if found <= LARGEST_WHOLE else self.place.refuse(name, text, rule)

    def hosts(self, name: str) -> tuple[str, ...]:
        """Return the names in a host list."""
        text = self.text(name)
        return self.place.hosts(name, text) if text else ()

    def span(self, name: str) -> float | None:
        """Return a time limit, seconds: infinite for UNLIMITED, None for the limit of the partition."""
        return self.spans.get(name)


def _whole(text: str) -> int:
    negative = text.startswith("-")
    number = amount(text.removeprefix("-"))
    return -number if negative else number


def blocks(source: Source, first: str, noun: str) -> list[TextRecord]:
    """Split the output of ``scontrol show``.

    Parameters
    ----------
    source
        The dump.
    first
        The key with which each record begins, such as ``"JobId"``.
    noun
        Noun of a record in messages.

    Raises
    ------
    DumpError
        If the file has text before the first record, or no record.
    """
    begins = f"{first}="
    found: list[tuple[int, list[str]]] = []
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.startswith(begins):
            found.append((number, []))
        if not line.strip():
            continue
        if not found:
            rule = f"line {number}: {one_line(line.strip())}: must begin with {begins}"
            source.refuse(f"{rule}. Write the dump again.")
        found[-1][1].append(line)
    records = []
    for number, lines in found:
        values = _pairs(lines)
        name = one_line(values.get(first, ""))
        label = f"{noun} {name} (line {number})" if name else f"line {number}"
        record = TextRecord(Place(source.file, label), values)
        for match in (each for line in lines for each in _DETAIL.finditer(line)):
            record.details.append((record.place.hosts("Nodes", match[1]), match[2]))
        records.append(record)
    return records


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    """Split lines into keys and values. The first value of a key counts: later text may be of users."""
    values: dict[str, str] = {}
    is_single = len(lines) == 1
    for line in lines:
        found = [*_KEY.finditer(line)]
        at = 0
        while at < len(found):
            key, begin = found[at][1], found[at].end()
            at += 1
            if key in _FREE:
                end = _end_of_free(line, key, begin, is_single=is_single)
                while at < len(found) and found[at].start() < end:
                    at += 1
            else:
                end = found[at].start() if at < len(found) else len(line)
            values.setdefault(key, line[begin:end].strip())
    return values


def _end_of_free(line: str, key: str, begin: int, *, is_single: bool) -> int:
    """Return the end of a value of users: the end of the line, or the next key of Slurm."""
    following = {"JobName": " UserId=", "Reason": " Dependency=", "Command": " WorkDir="}.get(key)
    if key == "Reason" or is_single:
        end = -1 if following is None else line.find(following, begin)
        if end >= 0:
            return end
        following_key = _KEY.search(line, begin)
        return len(line) if following_key is None or key == "Reason" else following_key.start()
    return len(line)


def delimited(source: Source, noun: str, key: str) -> tuple[list[str], list[TextRecord]]:
    """Split a table whose columns are separated by ``|``.

    Parameters
    ----------
    source
        The dump; its first line has the names of the columns.
    noun, key
        Noun of a record in messages, and the column with its number.

    Returns
    -------
    tuple
        The columns, and the records.

    Raises
    ------
    DumpError
        If a line has more or fewer fields than the first, or a column occurs twice.
    """
    lines = [(at, line) for at, line in enumerate(source.text.splitlines(), 1) if line.strip()]
    names = [name.strip() for name in lines[0][1].split("|")]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        source.refuse(f"column {one_line(twice[0])} occurs twice. Write the dump with each column once.")
    records = []
    for number, line in lines[1:]:
        fields = [value.strip() for value in line.split("|")]
        if len(fields) != len(names):
            rule = f"line {number} has {len(fields)} fields, the first line {len(names)}"
            source.refuse(f"{rule}. Leave out columns whose values may have a |, as %j.")
        values = dict(zip(names, fields, strict=True))
        label = f"{noun} {one_line(values.get(key, ''))} (line {number})"
        records.append(TextRecord(Place(source.file, label), values))
    return names, records


def with_times(
    records: Sequence[TextRecord], times: Collection[str], spans: Collection[str], timezone: str
) -> None:
    """Parse the times and the durations of records, and keep them in each.

    Raises
    ------
    DumpError
        If one is neither a time nor missing.
    """
    if not records:
        return
    columns = {name: [record.values.get(name) for record in records] for name in times}
    read = instants(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), [*times], timezone)
    for name in times:
        for record, time, is_bad in zip(records, read[name].early, read[name].unreadable, strict=True):
            if is_bad:
                record.place.refuse(name, record.values.get(name), _TIME)
            record.times[name] = time
    for name in spans:
        texts = [record.values.get(name, "").strip() for record in records]
        column = pl.DataFrame({"text": texts}).select(duration(pl.col("text"))).to_series()
        for record, text, seconds in zip(records, texts, column, strict=True):
            record.spans[name] = _span(record, name, text, seconds)


def _span(record: TextRecord, name: str, text: str, seconds: float | None) -> float | None:
    if text.upper() in _UNLIMITED:
        return math.inf
    if text.upper() in _OF_PARTITION:
        return None
    if seconds is None or seconds < 0:
        record.place.refuse(name, text, _DURATION)
    return seconds


def checked_zone(timezone: str) -> None:
    """Raise if a time zone is unknown."""
    try:
        check_zone(timezone)
    except WorkloadError as error:
        raise DumpError(str(error)) from None


def gres_of(text: str) -> Mapping[str, int]:
    """Parse requested generic resources.

    Parameters
    ----------
    text
        For example ``gres:gpu:2``, ``gres/gpu:a100=4,cpu=8`` or ``gpu:tesla:2(S:0)``.

    Returns
    -------
    mapping
        Amounts by name without the type; without resources of other kinds, such as ``cpu``.
    """
    found: dict[str, int] = {}
    for part in _items(text):
        item = re.sub(r"\([^)]*\)", "", part).strip()
        item = re.sub(r"^gres[:/]", "", item)
        name, *rest = re.split(r"[:=]", item)
        if not name or name.lower() in _OTHER_TRES or name in _NONE:
            continue
        # Without a count there is one, and the last part is the type, as in gpu:2080ti.
        count = amount(rest[-1]) if rest and _COUNT.fullmatch(rest[-1]) else 1
        found[name] = found.get(name, 0) + count
    return found


_COUNT = re.compile(r"\d{1,15}[KMGTP]?")
_OTHER_TRES = frozenset({"cpu", "mem", "node", "billing", "energy", "fs", "vmem", "pages", "license", "bb"})


def _items(text: str) -> Iterable[str]:
    return [each for each in re.split(r",(?![^(]*\))", text) if each.strip()]
