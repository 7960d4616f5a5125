"""Whatever follows an option, a command ends with a documented exit code and at most one line of error."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
import typer

from batchlab.cli import main
from batchlab.cli.application import application

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ODD = (
    *("", "-1", "0", "0.5", "1e999", "nan", "inf", "x", "é", "\udcff", "../x", "/dev/null", "/proc/none/x"),
    *("a=b", "1,2,,", "{}", "[]", "'", "\u202e", "1-0", "%s", "-", "--", "a" * 5000),
)
BASE = {
    "run": ["small.swf", "--nodes", "8"],
    "compare": ["small.swf", "--nodes", "8"],
    "experiment": ["small.toml"],
    "demo": ["--jobs", "20"],
}
# What listens, fetches, or takes long.
LEFT_OUT = {"--serve", "--host", "--port", "--live", "--pace", "--mirror", "--report"}


def command_lines() -> Iterator[list[str]]:
    """Give every option of every command with every odd value."""
    for name, command in typer.main.get_command(application([])).commands.items():  # type: ignore[attr-defined]
        for parameter in getattr(command, "params", ()):
            option = parameter.opts[0]
            if getattr(parameter, "is_flag", False) or option in LEFT_OUT:
                continue
            for odd in ODD:
                base = BASE.get(name, [])
                is_argument = parameter.param_type_name == "argument"
                yield [name, odd, *base[1:]] if is_argument else [name, *base, option, odd]


LINES = list(command_lines())
CHUNK = 50
CHANCE = random.Random(26)  # noqa: S311  # no secrets here
SAMPLE = CHANCE.sample(range(len(LINES)), 60)


@pytest.fixture
def place(specification: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a directory of one's own."""
    folder = specification.parent
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BATCHLAB_RUNTIME", str(folder / "runtime"))
    return folder


def check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command line."""
    code = main(arguments)
    said = capsys.readouterr().err
    assert code in {0, 1, 2}
    assert len(said) < 2100
    assert "internal error" not in said
    assert code == 0 or said.count("\n") == 1


@pytest.mark.parametrize("number", SAMPLE)
@pytest.mark.usefixtures("place")
def test_any_value_of_an_option(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample of the campaign."""
    check(LINES[number], capsys)


def test_a_name_that_is_no_unicode(place: Path) -> None:
    """Stands in the manifest as what it is."""
    assert main(["demo", "--jobs", "5", "--out", "\udcff"]) == 0
    manifest = json.loads((place / "\udcff/manifest.json").read_text("utf-8"))
    assert "\udcff" in manifest["command"]


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, len(LINES), CHUNK))
@pytest.mark.usefixtures("place")
def test_campaign(begin: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option with every value."""
    for arguments in LINES[begin : begin + CHUNK]:
        check(arguments, capsys)
