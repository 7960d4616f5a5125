"""The words of the command line in errors of the library: options in place of arguments of Python."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from batchlab.core.late import core_declared as declared
from batchlab.core.late import options_run_options as run_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab.errors import Argument, BatchlabError

__all__ = ["SPELLED", "CommandOptions"]

SPELLED: Mapping[str, str] = MappingProxyType(
    {
        "start": "from",
        "end": "to",
        "colour_by": "by",
        "time": "at",
        "job_id": "job",
        "start_time": "origin",
        "results": "folders",
        "request_limits['min']": "least",
        "request_limits['max']": "most",
    }
)
"""Arguments whose option has another name, unless the command has an option of their name."""

_TEXT = re.compile(r"'([^']*)'")
_NUMBER = re.compile(r"[-+.\w]+")
_ENTRY = re.compile(r"\['(\w+)'\]")
_SWITCHES = {"True": "--", "False": "--no-"}


@dataclass(frozen=True)
class CommandOptions:
    """The options of a command, and how errors name them.

    Parameters
    ----------
    by_argument
        The options, and the places such as ``DIR``, by the names of the arguments that they set.
    given
        Those that the command line has.
    """

    by_argument: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    @classmethod
    def of(cls, command: Any, words: Iterable[str] = ()) -> CommandOptions:  # noqa: ANN401  # typer brings its own click
        """Return the options of a command, and those among the words of a command line."""
        found: dict[str, str] = {}
        given: set[str] = set()
        heads = {word.partition("=")[0] for word in words}
        for each in command.params:
            option = next((word for word in each.opts if word.startswith("--")), None)
            if option is None:
                place = each.metavar or each.name.upper()
                found[each.name] = place
                given.add(place)
                continue
            found |= {each.name: option, option.removeprefix("--").replace("-", "_"): option}
            if heads & {*each.opts, *each.secondary_opts}:
                given.add(option)
        for name, word in SPELLED.items():
            if word in found:
                found.setdefault(name, found[word])
        return cls(found, frozenset(given))

    def subject(self, error: BatchlabError) -> str | None:
        """Return the option of the value that an error refuses; None if the command line has none."""
        option = self._option(error)
        return option if option in self.given else None

    def text(self, error: BatchlabError, option: str | None = None) -> str:
        """Return the message of an error in the words of the command line.

        Parameters
        ----------
        error
            The error.
        option
            The option that is named before the text, and is left out in it.
        """
        message = error.worded(self._mention)
        name, entry = error.subject
        if option is None or (self._option(error) != option and name != _argument(option)):
            return message
        rest = message.removeprefix(name)
        if name + entry in self.by_argument:
            rest = rest.removeprefix(entry)
        return _ENTRY.sub(r"\1", rest, count=1).removeprefix(" = ").removeprefix(": ")

    def _option(self, error: BatchlabError) -> str | None:
        name, entry = error.subject
        return self.by_argument.get(name + entry) or self.by_argument.get(name)

    def _mention(self, argument: Argument) -> str:
        """Return an argument as the command line has it; in the words of Python if it has none."""
        known = _options_of_run() if argument.to else self.by_argument
        option = known.get(argument.name)
        if option is None:
            return str(argument)
        return f"run it again with {_valued(option, argument)}" if argument.to else _valued(option, argument)


def _argument(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _valued(option: str, argument: Argument) -> str:
    """Return an option with the value of an argument, unless only Python can write the value."""
    value = argument.value
    if value in _SWITCHES:
        return _SWITCHES[value] + option.removeprefix("--")
    if text := _TEXT.fullmatch(value):
        return f"{option} {shlex.quote(text[1])}"
    return f"{option} {value}" if _NUMBER.fullmatch(value) else option


def _options_of_run() -> Mapping[str, str]:
    """Return the options of a run by argument."""
    known = declared.declared(run_options.RunOptions)
    return {"observers": "--power"} | {name: each.option for name, each in known.items()}
