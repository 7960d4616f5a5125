"""Settings: keys with values and positions in files."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from batchlab.errors import nearest as nearest_name
from batchlab.errors import one_line, shown
from batchlab.slurm.configuration.keys import Key, KeyTable, key_table, tables
from batchlab.slurm.configuration.values import KINDS, Place, options, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Option", "Setting", "Settings", "UnknownKey", "checked", "nearest", "parse", "refuse_option"]

_ASSIGNMENT = re.compile(r'\s*([^\s="]+)\s*=\s*("[^"]*"|\S*)(?=\s|$)')
_NEEDS_VALUE = frozenset({"count", "truth", "time", "minutes", "number"})
_TITLES = {
    "slurm_conf": "slurm.conf",
    "nodes": "a line NodeName=…",
    "node_sets": "a line NodeSet=…",
    "down_nodes": "a line DownNodes=…",
    "front_ends": "a line FrontendName=…",
    "partitions": "a line PartitionName=…",
    "topology": "topology.conf",
    "gres": "gres.conf",
    "associations": "an association",
    "qos": "a QOS",
}
_T = TypeVar("_T")


@dataclass(frozen=True)
class Option:
    """An option of a setting: its key (None if unknown), and the text after ``=``."""

    key: Key | None
    written: str
    value: str | None = None


@dataclass(frozen=True)
class Setting:
    """A key with its value.

    Attributes
    ----------
    key
        The entry of the key in the tables.
    written
        The key as written.
    value
        Its text, without quotes.
    place
        The position in the file.
    subject
        The subject of its line, as ``NodeName=n[1-8]``; empty for cluster-wide settings.
    options
        The options, if the key has several.
    """

    key: Key
    written: str
    value: str
    place: Place
    subject: str = ""
    options: tuple[Option, ...] = ()

    def take(self, rule: Callable[[str], _T]) -> _T:
        """Parse the value; an invalid value is an error with its position."""
        try:
            return rule(self.value)
        except ValueError as broken:
            refuse(self.place, f"{one_line(self.written)} = {shown(self.value)}; {broken}.")


@dataclass(frozen=True)
class UnknownKey:
    """A key that no release has: its value and position, and the nearest known name."""

    written: str
    value: str
    place: Place
    subject: str = ""
    nearest: str | None = None


@dataclass
class Settings:
    """The settings of a file or of a line; for a repeated key, the last one counts."""

    table: KeyTable
    given: list[Setting] = field(default_factory=list)
    defaults: Settings | None = None
    """The defaults for keys that are missing in this line."""

    def __post_init__(self) -> None:
        self.last: dict[str, Setting] = {}
        for setting in self.given:
            self.last[setting.key.name.lower()] = setting

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.given)

    def add(self, setting: Setting) -> None:
        """Add a setting."""
        self.given.append(setting)
        self.last[setting.key.name.lower()] = setting

    def find(self, *names: str) -> Setting | None:
        """Return the setting of the first of several keys that is set, in the line or by default."""
        for source in (self, self.defaults):
            for name in names if source is not None else ():
                found = cast("Settings", source).last.get(name.lower())
                if found is not None:
                    return found
        return None

    def text(self, *names: str) -> str | None:
        """Return the text of a key, or its default if it is not set."""
        found = self.find(*names)
        if found is not None:
            return found.value
        key = self.table.find(names[0])
        return None if key is None else key.default

    def value(self, rule: Callable[[str], _T], *names: str) -> _T | None:
        """Return the parsed value of a key, or its default if it is not set; None without a default."""
        found = self.find(*names)
        if found is not None:
            return found.take(rule)
        default = self.text(*names)
        return None if default is None else rule(default)

    def whole(self, *names: str) -> int | None:
        """Return a whole number; None if it is not set or unlimited."""
        number = cast("float | None", self.value(KINDS["count"], *names))
        return None if number is None or math.isinf(number) else int(number)

    def true(self, *names: str) -> bool:
        """Return a Boolean; false if it is not set."""
        return bool(self.value(KINDS["truth"], *names))

    def names(self, *names: str) -> tuple[str, ...]:
        """Return a list of names; empty if it is not set."""
        return cast("tuple[str, ...]", self.value(KINDS["names"], *names) or ())

    def time(self, *names: str) -> float | None:
        """Return a time in seconds; infinite if unlimited, None if it is not set."""
        return cast("float | None", self.value(KINDS["time"], *names))

    def options(self, name: str) -> Mapping[str, str | None]:
        """Return the options of a key, by lower-case name."""
        found = self.find(name)
        return {} if found is None else {each.written.lower(): each.value for each in found.options}


def parse(
    line: str, place: Place, table: KeyTable, subject: str = "", unknown: list[UnknownKey] | None = None
) -> list[Setting]:
    """Parse the settings of a line.

    Parameters
    ----------
    line
        Assignments ``Key=Value``, separated by blanks.
    place
        The position of the line.
    table
        The keys that the line may have.
    subject
        The subject of the line.
    unknown
        Collects unknown keys; by default they are errors.

    Raises
    ------
    SystemDescriptionError
        If the line is invalid, a key is unknown, or a value does not fit its key.
    """
    found = []
    line, at = line.rstrip(), 0
    while at < len(line):
        match = _ASSIGNMENT.match(line, at)
        if match is None:
            refuse(place, f"{shown(line[at:].strip())} is no Key=Value. Put values with blanks in quotes.")
        name, text = match[1], match[2]
        value = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
        key = table.find(name)
        if key is not None:
            found.append(checked(Setting(key, name, value, place, subject)))
        elif unknown is not None or table.unknown == "kept":
            near = nearest(name, table)
            (unknown if unknown is not None else []).append(UnknownKey(name, value, place, subject, near))
        else:
            rule = f"{one_line(name)} is not a key of {_title(table)}.{_question(name, table)}"
            refuse(
                place, f"{rule} Slurm refuses it too; take it out. batchlab slurm check lists all such keys."
            )
        at = match.end()
    return found


def checked(setting: Setting) -> Setting:
    """Check the value of a setting, and parse its options."""
    key = setting.key
    if key.options is None:
        if setting.value or key.kind in _NEEDS_VALUE:
            setting.take(KINDS[key.kind])
        return setting
    table = key_table(key.options)
    found = []
    for written, value in setting.take(options):
        option = table.find(written)
        if option is None and table.unknown == "refused" and table.refused_since is None:
            refuse_option(setting, written, table)
        found.append(Option(option, written, value))
    return replace(setting, options=tuple(found))


def refuse_option(setting: Setting, written: str, table: KeyTable) -> NoReturn:
    """Raise for an option that no release has."""
    rule = f"{one_line(written)} is no option of {setting.key.name}.{_question(written, table)}"
    refuse(setting.place, f"{rule} Slurm refuses it too; take it out.")


def nearest(name: str, table: KeyTable) -> str | None:
    """Return the known name that is nearest to an unknown one; None if none is similar."""
    found = nearest_name(name, table.keys)
    return None if found is None else table.keys[found].name


def _question(name: str, table: KeyTable) -> str:
    owner = next(
        (each.name for each in tables().values() if each.name != table.name and each.find(name)), None
    )
    if owner is not None:
        return f" It belongs to {_title_of(owner)}."
    near = nearest(name, table)
    return "" if near is None else f" Did you mean {near}?"


def _title(table: KeyTable) -> str:
    return _title_of(table.name)


def _title_of(name: str) -> str:
    return _TITLES.get(name, name)
