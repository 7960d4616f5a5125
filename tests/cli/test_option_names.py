"""Errors of a command name its options, and no arguments of Python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.application import application
from batchlab.cli.plot import plot_kinds
from batchlab.cli.wording import CommandOptions
from batchlab.errors import Argument, ResultError
from batchlab.monitor import runs
from cli.conftest import LOG
from cli.test_slurm_forecast import DUMPS
from support.small_centre import configured, log_of, submitted

if TYPE_CHECKING:
    from collections.abc import Iterator

BAD = ("nan", "x", "-1", "")
TARGET = "allreduce(size=1024), tasks=2, requested_time=60"
# Why a plot refuses a run before it looks at an option.
NOT_RECORDED = ("not recorded", "has no observations", "was not sensed")
CLUSTER = ["--nodes", "8", "--mode", "model", "--duration", "10"]
# Words by which each command gets as far as to the value of its option.
BASES = {
    "run": ["run", "small.swf", "--nodes", "8"],
    "compare": ["compare", "small.swf", "--nodes", "8"],
    "experiment": ["experiment", "small.toml"],
    "demo": ["demo", "--jobs", "20"],
    "elastisim": ["elastisim", "project/input/configuration.json", "--algorithm", "project/algorithm.py"],
    "forecast": ["forecast", "small.swf", "--nodes", "8", "--at", "5"],
    "generate": ["generate", "--like", "small.swf", "--jobs", "9", "--out", "made.swf"],
    "anonymise": ["anonymise", "small.swf", "--out", "without.csv"],
    "mix": ["mix", "small.swf", "--target", TARGET, "--out", "mixed.csv"],
    "platform": ["platform", "cielo"],
    "report": ["report", "run", "--out", "report.html"],
    "why": ["why", "run"],
    "adequacy": ["adequacy", "run", "run"],
    "vnodes": ["vnodes", "log.csv", "--conf", "now", *CLUSTER],
    "watch": ["watch"],
    "bundle make": ["bundle", "make", "run", "--out", "made.zip"],
    "bundle check": ["bundle", "check", "packed.zip"],
    "slurm check": ["slurm", "check", "now"],
    "slurm fit": ["slurm", "fit", "log.csv", "--conf", "now", "--trials", "1", "--seeds", "1"],
    "slurm what-if": ["slurm", "what-if", "log.csv", "--conf", "now", "--resamples", "9", "--seeds", "1"],
    "slurm forecast": ["slurm", "forecast", *DUMPS, "--samples", "9"],
    "systems list": ["systems", "list"],
    "traces list": ["traces", "list"],
}
# Options that listen or print while a simulation lasts.
LEFT_OUT = {"--serve", "--host", "--port", "--live", "--pace"}
# Assignments, calls and values as only a program writes them.
OF_PYTHON = re.compile(r"\b[a-z_]+='|\b[a-z_]+=True|\bsimulate\(|\brun_until\(|\bNone\b")


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command but `plot`, which has kinds, and one that only fetches from the Internet."""
    root: Any = typer.main.get_command(application([]))
    for name, command in root.commands.items():
        for sub, each in (getattr(command, "commands", None) or {"": command}).items():
            if name != "plot" and sub != "fetch":
                yield f"{name} {sub}".strip(), each


def options() -> Iterator[tuple[str, str]]:
    """Yield each option with a value of each command, and of each kind of plot."""
    for name, command in commands():
        for parameter in command.params:
            takes_value = parameter.param_type_name == "option" and not parameter.is_flag
            if takes_value and parameter.opts[0] not in LEFT_OUT:
                yield name, parameter.opts[0]
    for kind in plot_kinds().values():
        for argument in kind.arguments.values():
            if not argument.is_switch:
                yield f"plot {kind.name}", argument.option


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run with what most plots show, a packed run, and a project of ElastiSim."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "small.swf").write_text(LOG)
    words = ["--nodes", "8", "--policy", "easy", "--explain", "--power", "idle=9"]
    assert main(["run", str(folder / "small.swf"), *words, "--out", str(folder / "run")]) == 0
    assert main(["bundle", "make", str(folder / "run"), "--out", str(folder / "packed.zip")]) == 0
    shutil.copytree(Path(__file__).parents[2] / "examples/elastisim", folder / "project")
    log_of(submitted(150, load=0.6), bl.twin.read_twin(configured(folder / "now")), folder / "log.csv")
    return folder


@pytest.mark.parametrize(("name", "option"), list(options()))
def test_errors_name_the_option(  # noqa: PLR0917  # fixtures
    name: str,
    option: str,
    specification: Path,
    written: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever value is refused."""
    monkeypatch.chdir(specification.parent)
    monkeypatch.setenv(runs.RUNTIME_VARIABLE, str(specification.parent / "runtime"))
    for each in ("run", "now", "log.csv", "project", "packed.zip"):
        (specification.parent / each).symlink_to(written / each)
    command, _, kind = name.partition(" ")
    base = BASES[name] if command != "plot" else ["plot", kind, "run", "--out", "a.png"]
    for value in BAD:
        code = main([*base, option, value])
        said = capsys.readouterr().err
        if code == 0 or any(each in said for each in NOT_RECORDED):
            continue
        assert option in said, (value, said)
        assert not OF_PYTHON.search(said.replace(value, "") if value else said), said


@pytest.mark.parametrize(
    ("parts", "python", "option", "text"),
    [
        (["start = nan; must be finite."], "start = nan; must be finite.", "--from", "nan; must be finite."),
        (
            ["speed['core'] = 0; must be > 0."],
            "speed['core'] = 0; must be > 0.",
            "--speed",
            "core = 0; must be > 0.",
        ),
        (["no.swf: is empty."], "no.swf: is empty.", None, "no.swf: is empty."),
        (
            ["No gates. ", Argument("explain", "True", "simulate()"), "."],
            "No gates. Pass explain=True to simulate().",
            None,
            "No gates. Run it again with --explain.",
        ),
        (
            ["zoom = 3; use ", Argument("kind", "'cdf'"), "."],
            "zoom = 3; use kind='cdf'.",
            "--zoom",
            "3; use --kind cdf.",
        ),
        (
            ["no_job = 3; ", Argument("waits", "f(1)", "Plan()"), "."],
            "no_job = 3; pass waits=f(1) to Plan().",
            None,
            "no_job = 3; pass waits=f(1) to Plan().",
        ),
    ],
)
def test_words_of_an_error(parts: list[str | Argument], python: str, option: str | None, text: str) -> None:
    """An error says the same in the words of Python and of a command line."""
    words = ["--from", "--zoom", "--speed"]
    known = CommandOptions(
        {"start": "--from", "zoom": "--zoom", "speed": "--speed", "kind": "--kind"}, frozenset(words)
    )
    error = ResultError(*parts)
    assert str(error) == python
    assert known.subject(error) == option
    assert known.text(error, option) == text
