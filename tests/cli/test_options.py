"""One name for one option: what is the same in several commands is called the same, and takes the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import TYPE_CHECKING

import typer

from batchlab.cli.application import application
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

# What differs on purpose: files of single pages and workloads, where runs have folders.
_FILES = {"anonymise", "report", "plot", "generate", "mix", "slurm fit", "bundle make"}
# The least of jobs, or of what nodes have; how long, or how often, nothing may happen.
# A form, a part or a class of jobs, by what is drawn or split; instants of a log can be dates if it is drawn.
_OF_THEIR_COMMANDS = {"--least", "--patience", "--kind", "--by", "--of", "--every"}


def options(command: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Give every option with its command."""
    for sub, each in getattr(command, "commands", {}).items():
        yield from options(each, f"{name} {sub}".strip())
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name == "option":
            yield name, parameter


def all_options() -> list[tuple[str, object]]:
    return [*options(typer.main.get_command(application([])))]


def test_short_names_go_with_long_ones() -> None:
    """-o with --out and -p with --policy, wherever these are; no other option has one."""
    short = {"--out": "-o", "--policy": "-p"}
    for command, option in all_options():
        names: list[str] = option.opts  # type: ignore[attr-defined]  # of click
        long = names[0]
        assert names[1:] == ([short[long]] if long in short else []), (command, names)


def test_an_option_takes_the_same_everywhere() -> None:
    """A name stands for one kind of value, in all commands."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for command, option in all_options():
        kind = option.metavar or ("flag" if option.is_flag else option.type.name)  # type: ignore[attr-defined]  # of click
        found[option.opts[0]][kind].add(command)  # type: ignore[attr-defined]  # of click
    several = {name: dict(kinds) for name, kinds in found.items() if len(kinds) > 1}
    assert several.pop("--out") == {
        "DIR": {"run", "compare", "experiment", "demo", "elastisim", "vnodes"},
        "FILE": _FILES,
    }
    # Results of several runs have the record in the folder of each.
    assert several.pop("--dispatch") == {"FILE": {"run"}, "flag": {"compare"}}
    # A number of nodes, or what Slurm prints of its nodes.
    assert several.pop("--nodes")["FILE"] == {"slurm forecast"}
    assert several.keys() == _OF_THEIR_COMMANDS


def test_formats_are_called_format() -> None:
    """No command has another name for JSON."""
    names = {option.opts[0] for _, option in all_options()}  # type: ignore[attr-defined]  # of click
    assert "--json" not in names
    assert "--format" in names


def test_commands_have_all_options_of_reading() -> None:
    """Commands that read a log leave out none."""
    readers = (
        "run",
        "compare",
        "slurm fit",
        "slurm what-if",
        "generate",
        "vnodes",
        "mix",
        "adequacy",
        "forecast",
    )
    declared = {each.name: each.default for each in fields(ReadingOptions)}
    found: dict[str, dict[str, object]] = defaultdict(dict)
    for command, option in all_options():
        found[command][option.name] = option.default  # type: ignore[attr-defined]  # of click
    for command in readers:
        of_reading = {name: value for name, value in found[command].items() if name in declared}
        assert of_reading == declared
