"""The keys of Slurm's files as data: meaning, releases, and treatment in batchlab.

The tables are read from the files of this folder at first use.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from batchlab.core.arguments import checked
from batchlab.core.lazy import make_dir
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.policy.slurm import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "RELEASES",
    "Change",
    "Key",
    "KeyTable",
    "Status",
    "at",
    "changes",
    "key_table",
    "release_of",
    "tables",
]

__dir__ = make_dir(__name__)

RELEASES = (
    *("20.02", "20.11", "21.08", "22.05", "23.02", "23.11"),
    *("24.05", "24.11", "25.05", "25.11", "26.05", "26.11"),
)
"""The known releases, in order."""

_RELEASE = re.compile(r"(\d\d\.\d\d)(?:\..*|-.*)?")


def release_of(version: str) -> str:
    """Return the release of a version.

    Parameters
    ----------
    version
        As printed by ``sinfo --version``: ``"22.05.8"``; or the release itself.

    Returns
    -------
    str
        A member of `RELEASES`.

    Raises
    ------
    SystemDescriptionError
        If the release is unknown.

    Examples
    --------
    >>> release_of("22.05.8")
    '22.05'
    """
    match = _RELEASE.fullmatch(version.strip()) if isinstance(version, str) else None
    if match is None or match[1] not in RELEASES:
        raise SystemDescriptionError(
            f"version = {shown(version)}; must be a version of Slurm, as 22.05.8, of one of the releases "
            f"{', '.join(RELEASES)}."
        )
    return match[1]


def at(name: str) -> int:
    """Return the index of a release in their order."""
    return RELEASES.index(name)


Status = Literal["modelled", "read", "not_modelled", "no_effect"]
"""The treatment of a key: simulations use it; its value is parsed, but not used; it would change a schedule,
and is ignored; or it has no effect on when and where jobs run."""

Unknown = Literal["refused", "ignored", "kept"]
"""How Slurm treats a name that is not in the table."""

_STATUSES: tuple[Status, ...] = ("modelled", "read", "not_modelled", "no_effect")
_FILES = Path(__file__).parent
_NO_TABLES = {"changes.toml"}
_BY_POLICY: Literal["modelled_by_policy"] = "modelled_by_policy"
"""Section of options that simulations use if the policy ``slurm`` has them; otherwise they are read."""


@dataclass(frozen=True)
class Key:
    """A key of a file, or an option of a key.

    Attributes
    ----------
    name
        As in Slurm's manual; files may use any case.
    table
        The table that contains it.
    status
        Its treatment.
    does
        Its meaning in Slurm, in one or two sentences.
    kind
        The type of its value: a name in `batchlab.slurm.configuration.values.KINDS`.
    default
        Its default as text in a file; None if there is none, or if it depends on other values.
    since, until
        The first and the last release with it; None if it exists in 20.02, or still exists.
    options
        The table of its options, if it has several.
    line
        The table of keys for its line, if it begins a line that describes an object.
    neutral
        Values, in lower case, at which it has no effect: ``OverSubscribe=NO``.
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
    """The keys of one kind of line or list, by name in lower case.

    If unknown names are refused, `refused_since` is the first release that refuses them; None for all.
    """

    name: str
    keys: Mapping[str, Key]
    unknown: Unknown = "refused"
    refused_since: str | None = None

    def find(self, name: str) -> Key | None:
        """Return a key by its name in any case; None if unknown."""
        return self.keys.get(name.lower())

    @property
    def names(self) -> list[str]:
        """The names of all keys, as in the manual."""
        return [key.name for key in self.keys.values()]


@dataclass(frozen=True)
class Change:
    """A change in the meaning of a key.

    Attributes
    ----------
    key, of
        The key, and its table.
    release
        The first release with the new meaning.
    before, after
        The old and the new meaning.
    absent
        Whether the default changed: this matters if the key is not set.
    """

    key: str
    release: str
    before: str
    after: str
    of: str = "slurm_conf"
    absent: bool = False


@checked(SystemDescriptionError)
def key_table(name: str) -> KeyTable:
    """Return a table by name."""
    found = tables().get(name)
    if found is None:
        raise SystemDescriptionError(f"no table of keys named {shown(name)}.{suggest(name, tables())}")
    return found


@cache
def tables() -> Mapping[str, KeyTable]:
    """Return all tables by name."""
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
    """Return all known changes of meanings."""
    content = tomllib.loads((_FILES / "changes.toml").read_text("utf-8"))
    return tuple(Change(**each) for each in content["changes"])


def _of_policy(table: str, name: str) -> Status:
    """Return whether an option is modelled, as the kernel's table of parameters has it, or read."""
    parameter = PARAMETERS.get(name)
    return "modelled" if parameter is not None and parameter.source.startswith(table) else "read"


def _keys(table: str, content: Mapping[str, Mapping[str, str | dict[str, str]]]) -> Iterator[Key]:
    for section in (*_STATUSES, _BY_POLICY):
        for name, says in content.get(section, {}).items():
            status = _of_policy(table, name) if section == _BY_POLICY else section
            entry = {"does": says} if isinstance(says, str) else dict(says)
            neutral = tuple(entry.pop("neutral", "").split())
            if entry.get("kind") == "options":
                entry.setdefault("options", name)
            yield Key(name, table, status, neutral=neutral, **entry)
