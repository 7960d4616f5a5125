"""`batchlab --help` and `batchlab`: what typer would say, without typer."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import typer

from batchlab.cli import main
from batchlab.cli.application import command_line, command_of
from batchlab.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENVIRONMENTS = [
    {"COLUMNS": "80"},
    {"COLUMNS": "57"},
    {"COLUMNS": "200"},
    {"COLUMNS": "120", "FORCE_COLOR": "1"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda given: " ".join(given.values()))
@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]], ids=["nothing", "--help", "-h"])
def test_the_overview_is_what_typer_shows(
    words: list[str],
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To the byte, with colours and without."""
    # It reads the environment when it is imported, and keeps what it finds.
    import_module("typer.rich_utils")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", "FORCE_COLOR" in environment or None)
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", None)
    command_line([]).main(words, "batchlab", standalone_mode=False)
    expected = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == expected


def _paths(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from _paths(each, (*path, name))


@pytest.mark.parametrize("width", [80, 60])
def test_meanings_of_options_have_room(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """More than half of the line in the help of each command, whatever the longest name of an option."""
    import_module("typer.rich_utils")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", None)
    for path in _paths(command_line([])):
        assert main([*path, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        # A further line of a meaning begins below its first one.
        inner = [line.strip("│") for line in lines if line.startswith("│") and line.strip("│ ")]
        indents = [len(line) - len(line.lstrip()) for line in inner]
        assert max(indents, default=0) <= 0.45 * width, path


def test_an_option_that_is_too_long_is_above_its_meaning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a described default is no text in parentheses."""
    import_module("typer.rich_utils")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", None)
    assert main(["run", "--help"]) == 0
    lines = [" ".join(line.strip("│ ").split()) for line in capsys.readouterr().out.splitlines()]
    assert "--processors [requested|allocated]" in lines
    assert "--use-memory, --no-use-memory" in lines
    assert "log-events]" in " ".join(lines)
    assert "[default: (" not in " ".join(lines)


@pytest.mark.parametrize("name", [*COMMANDS])
def test_a_command_is_summed_up_by_its_first_line(name: str) -> None:
    """The table says what the command's own help begins with."""
    command: typer.Typer | Callable[..., object] = command_of(name)
    own = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert isinstance(own, str)
    assert " ".join(own.split("\n\n")[0].split()) == COMMANDS[name]
