"""Copies of inputs that can be read only once, such as standard input.

The format of an input is recognised by its beginning, and a fast reader passes unusual logs on to another
reader. A pipe would be empty by then. Therefore an input that is not a regular file is copied to a temporary
file.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TextIO

import typer

from batchlab.cli.process import removed

__all__ = ["discard_spooled", "named_as_given", "piped", "spooled"]

STANDARD_INPUT = "-"
_DEVICE = "/dev/stdin"
_copies: dict[Path, SpooledPath] = {}
_folders = ExitStack()
# The argument whose value is standard input.
_takers: set[str] = set()


class SpooledPath(type(Path())):  # type: ignore[misc]  # the class of paths of this system
    """The path of a copy; `shown` is its name in messages and manifests."""

    shown: str


def spooled(given: Path, argument: str) -> Path:
    """Return a file with the content of an input.

    Parameters
    ----------
    given
        ``-`` for standard input, or a path.
    argument
        The argument or option of which it is the value.

    Returns
    -------
    Path
        The path itself, or a copy for standard input, a pipe or a device. Each trace is copied once.
    """
    is_standard_input = str(given) in {STANDARD_INPUT, _DEVICE}
    if is_standard_input:
        _take(argument)
    if given in _copies:
        return _copies[given]
    if not is_standard_input and (given.is_file() or given.is_dir() or not given.exists()):
        return given
    folder = _folders.enter_context(TemporaryDirectory(prefix="batchlab-"))
    _folders.enter_context(removed(folder))
    copy = SpooledPath(folder, "standard-input" if is_standard_input else given.name)
    copy.shown = "standard input" if is_standard_input else str(given)
    with copy.open("wb") as file:
        if is_standard_input:
            copyfileobj(_standard_input().buffer, file)
        else:
            with given.open("rb") as pipe:
                copyfileobj(pipe, file)
    _copies[given] = copy
    return copy


def piped(given: Path, argument: str) -> Path:
    """Return the path of an input that is read in one pass: for standard input, its device."""
    if str(given) not in {STANDARD_INPUT, _DEVICE}:
        return given
    _take(argument)
    return Path(_DEVICE) if Path(_DEVICE).exists() else spooled(given, argument)


def named_as_given(message: str) -> str:
    """Replace the paths of copies in a message by the names that the user gave."""
    for copy in _copies.values():
        message = message.replace(str(copy), copy.shown)
    return message


def discard_spooled() -> None:
    """Remove the copies."""
    _copies.clear()
    _takers.clear()
    _folders.close()


def _take(argument: str) -> None:
    """Refuse standard input as the value of a second argument."""
    _takers.add(argument)
    if len(_takers) > 1:
        names = " and ".join(sorted(_takers))
        rule = f"is standard input, which only one of {names} can be. Give a file."
        raise typer.BadParameter(rule, param_hint=argument)


def _standard_input() -> TextIO:
    if sys.stdin is None:
        raise typer.BadParameter("standard input is closed; give a file.", param_hint="'TRACE'")
    return sys.stdin
