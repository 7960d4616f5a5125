"""Tables of keys, read from the files beside this module once they are asked for."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Change", "Key", "KeyTable", "Status", "changes", "key_table", "tables"]

Status = Literal["modelled", "read", "not_modelled", "no_effect"]
"""What becomes of a key: simulations go by it; its value is known, and no simulation goes by it yet; it would
change a schedule, and is not looked at; or it does not change when and where jobs run."""

Unknown = Literal["refused", "ignored", "kept"]
"""What Slurm does with a name that the table does not have."""

_STATUSES: tuple[Status, ...] = ("modelled", "read", "not_modelled", "no_effect")
_FILES = Path(__file__).parent
_NO_TABLES = {"changes.toml"}


@dataclass(frozen=True)
class Key:
    """One key of a file, or one option of a key.

    Attributes
    ----------
    name
        As Slurm's manual writes it; files may write it in any case.
    table
        The table that it is in.
    status
        What becomes of it here.
    does
        What it does in Slurm, in one sentence or two.
    kind
        What its value is: a name of `batchlab.slurm.values.KINDS`.
    default
        Its value where it is not given, as files would write it; None where there is none, or it depends.
    since, until
        The first and the last release with it; None where it is in 20.02 already, or still there.
    options
        The table of its options, where it takes several.
    line
        The table of the keys of its line, where it begins one that describes something.
    neutral
        Values, in lower case, at which it asks for nothing: ``OverSubscribe=NO``.
    """

    name: str
    table: str
    status: Status
    does: str
    kind: str = "text"
    default: str | None = None
    since: str | None = None
    until: str | None = None
    options: str | None = None
    line: str | None = None
    neutral: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyTable:
    """The keys of one kind of line or list, by their names in lower case.

    Where unknown names are refused, `refused_since` is the first release that refuses them; None for all.
    """

    name: str
    keys: Mapping[str, Key]
    unknown: Unknown = "refused"
    refused_since: str | None = None

    def find(self, name: str) -> Key | None:
        """Give a key by its name in any case; None where there is none."""
        return self.keys.get(name.lower())

    @property
    def names(self) -> list[str]:
        """The names of all keys, as the manual writes them."""
        return [key.name for key in self.keys.values()]


@dataclass(frozen=True)
class Change:
    """What a key means since a release.

    Attributes
    ----------
    key, of
        The key, and its table.
    release
        The first one of the new meaning.
    before, after
        The old meaning and the new one.
    absent
        Whether it is the default that changed: it matters where the key is not given.
    """

    key: str
    release: str
    before: str
    after: str
    of: str = "slurm_conf"
    absent: bool = False


def key_table(name: str) -> KeyTable:
    """Give a table by its name."""
    return tables()[name]


@cache
def tables() -> Mapping[str, KeyTable]:
    """Give all tables by their names."""
    found: dict[str, KeyTable] = {}
    for file in sorted(_FILES.glob("*.toml")):
        if file.name not in _NO_TABLES:
            for name, content in tomllib.loads(file.read_text("utf-8")).items():
                keys = {key.name.lower(): key for key in _keys(name, content)}
                since = content.get("refused_since")
                found[name] = KeyTable(name, MappingProxyType(keys), content["unknown"], since)
    return MappingProxyType(found)


@cache
def changes() -> tuple[Change, ...]:
    """Give the changes of meanings that are known."""
    content = tomllib.loads((_FILES / "changes.toml").read_text("utf-8"))
    return tuple(Change(**each) for each in content["changes"])


def _keys(table: str, content: Mapping[str, Mapping[str, str | dict[str, str]]]) -> Iterator[Key]:
    for status in _STATUSES:
        for name, says in content.get(status, {}).items():
            entry = {"does": says} if isinstance(says, str) else dict(says)
            neutral = tuple(entry.pop("neutral", "").split())
            if entry.get("kind") == "options":
                entry.setdefault("options", name)
            yield Key(name, table, status, neutral=neutral, **entry)
