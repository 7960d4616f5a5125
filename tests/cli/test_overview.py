"""`batchlab --help` and `batchlab`: what typer would say, without typer."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import typer

from batchlab.cli import main
from batchlab.cli.application import application, command_of
from batchlab.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

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
    typer.main.get_command(application([])).main(words, "batchlab", standalone_mode=False)
    expected = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("name", [*COMMANDS])
def test_a_command_is_summed_up_by_its_first_line(name: str) -> None:
    """The table says what the command's own help begins with."""
    command: typer.Typer | Callable[..., object] = command_of(name)
    own = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert isinstance(own, str)
    assert " ".join(own.split("\n\n")[0].split()) == COMMANDS[name]
