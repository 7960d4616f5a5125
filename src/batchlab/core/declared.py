"""Options that a dataclass declares: the help, the spelling on a command line, and values as text.

A field is an option if its type is annotated with a `Help`. Commands, files of experiments, the commands in
reports and tests of the documentation take the options from there. Needs nothing but the standard library.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from batchlab.core.units import format_number
from batchlab.errors import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Declared", "Help", "NeedsTables", "declared", "one_of", "option_of", "spelled"]

_BARE = re.compile(r"[A-Za-z_][\w.:/+-]*", re.ASCII)
_RESERVED = frozenset({"true", "false", "none", "null", "inf", "nan"})


@dataclass(frozen=True)
class Help:
    """The help of an option.

    Parameters
    ----------
    text
        One sentence or more.
    metavar
        The name of its value in a usage line.
    default
        The default in words, if no value says it.
    word
        Its name on a command line, if that is not the name of the field.
    is_list
        Whether a command line can have it several times.
    tables
        Why the option needs the table of all jobs, which a streamed run does without; None if it does not.
    """

    text: str
    metavar: str | None = None
    default: str | None = None
    word: str | None = None
    is_list: bool = False
    tables: str | None = None


@dataclass(frozen=True)
class NeedsTables:
    """Mark of a command's option that needs the table of all jobs, in its annotation.

    Parameters
    ----------
    reason
        Why, as in "--report: shows all jobs".
    """

    reason: str


@dataclass(frozen=True)
class Declared:
    """An option: the name of its field, the types that its value can have, help and default."""

    name: str
    kinds: tuple[object, ...]
    help: Help
    default: object

    @property
    def option(self) -> str:
        """How a command line spells it."""
        return f"--{(self.help.word or self.name).replace('_', '-')}"

    @property
    def off(self) -> str:
        """How a command line spells that a switch is off."""
        return f"--no-{self.option.removeprefix('--')}"

    @property
    def is_switch(self) -> bool:
        """Return whether it is true or false."""
        return bool in self.kinds

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of which its value is one; empty for other options."""
        return tuple(each for kind in self.kinds if get_origin(kind) is Literal for each in get_args(kind))

    def of_text(self, text: str | Sequence[str] | bool | None) -> object:
        """Return the value that a command line gives; the rule of the option checks it."""
        if not isinstance(text, str):
            return text
        for kind in (int, float):
            if kind in self.kinds:
                try:
                    return kind(text)
                except ValueError:
                    continue
        return text

    def words(self, value: object) -> list[str]:
        """Return the words of a command line that give it a value."""
        if isinstance(value, bool):
            return [self.option if value else self.off]
        several = value if self.help.is_list and isinstance(value, list | tuple) else [value]
        return [word for each in several for word in (self.option, _bare(each))]


@lru_cache
def declared(options: type) -> Mapping[str, Declared]:
    """Return the options of a dataclass by the names of their fields, in their order."""
    found = {}
    for field in dataclasses.fields(options):
        kind, *_, told = get_args(field.type)
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        found[field.name] = Declared(field.name, kinds, told, field.default)
    return found


def option_of(options: type, name: str) -> str:
    """Return how a command line spells an option of a dataclass."""
    return declared(options)[name].option


def one_of(choices: Sequence[str]) -> str:
    """Return the rule of an option whose value is one of some words."""
    *others, last = map(repr, choices)
    return f"must be {', '.join(others)} or {last}" if others else f"must be {last}"


def spelled(value: Any) -> str:  # noqa: ANN401  # whatever a spec can hold
    """Return a plain value as `batchlab.core.spec` reads it.

    Parameters
    ----------
    value
        A truth value, a number, a text, None, a sequence, or a mapping.

    Raises
    ------
    ValueError
        If a text has both kinds of quotes.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return format_number(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {spelled(each)}' for key, each in value.items())}}}"
    text = str(value)
    if value is None or (_BARE.fullmatch(text) and text.lower() not in _RESERVED):
        return text
    quote = '"' if '"' not in text else "'"
    if quote in text:
        raise ValueError(f"{shown(text)} has both kinds of quotes, which no spec can hold")
    return f"{quote}{text}{quote}"


def _bare(value: object) -> str:
    """Return a value as a word of a command line: a text as it is, a mapping as arguments of a spec."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={spelled(each)}" for key, each in value.items())
    return value if isinstance(value, str) else spelled(value)
