"""Records of Slurm's text: ``scontrol show`` (keys and values), and tables with ``|``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import DumpError, WorkloadError, one_line
from batchlab.slurm.configuration.values import amount, host_names
from batchlab.slurm.dumps.json_records import LARGEST_WHOLE
from batchlab.slurm.dumps.source import Place
from batchlab.workload.logs.clock import check_zone, instants
from batchlab.workload.logs.quantities import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from batchlab.slurm.dumps.source import Source

__all__ = ["TextRecord", "blocks", "checked_zone", "delimited", "gres_of", "with_times"]

_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w/:.]*)=")
# These values are text of users, may have blanks and equal signs, and end with their line.
_FREE = frozenset(
    {"JobName", "Command", "Comment", "AdminComment", "SystemComment", "WorkDir", "Reason", "OS"}
)
_NONE = frozenset({"", "(null)", "N/A", "n/a", "none", "None", "*"})
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
        return _hosts(self, text, name) if text else ()

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
            record.details.append((_hosts(record, match[1]), match[2]))
        records.append(record)
    return records


def _hosts(record: TextRecord, text: str, name: str = "Nodes") -> tuple[str, ...]:
    try:
        return host_names(text)
    except ValueError as broken:
        record.place.refuse(name, text, str(broken))


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
