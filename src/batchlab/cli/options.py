"""Shell completion: names of policies, machines and logs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from batchlab.cli.failure import at_least_one, beside, is_in_directory, is_seed, naming, wrong_usage
from batchlab.core.declared import NeedsTables
from batchlab.core.late import cli_recognised as recognised
from batchlab.core.late import cli_spooled, platform_presets, policy
from batchlab.core.late import system_machines as machines
from batchlab.core.late import system_read as read
from batchlab.core.late import trace_catalogue as catalogue
from batchlab.core.late import trace_traces as traces

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "MACHINE",
    "OUTPUT",
    "READING",
    "RULES",
    "AnyLog",
    "Cores",
    "Equivalence",
    "ExampleName",
    "ExternalEvents",
    "FailureTimes",
    "Fitted",
    "Format",
    "FormatOption",
    "InitialStateFile",
    "NodeEvents",
    "NodeWatts",
    "Nodes",
    "Observers",
    "OutputFormat",
    "Seed",
    "SlurmFolder",
    "SystemFile",
    "Version",
    "amounts",
    "complete_example",
    "complete_log",
    "complete_machine",
    "complete_policy",
    "completed_words",
    "directory",
    "existing_file",
    "listed_numbers",
    "log_file",
    "numbers",
    "out_directory",
    "out_file",
    "policy_spec",
    "seed_number",
    "system_file",
    "whole_number",
]


_KEY = re.compile(r"(?P<before>.*[(,]\s*(?P<key>\w+)=)(?P<begin>\w*)")


def completed_words() -> list[str]:
    """Return the words to be completed, without the command's name; empty without a completion."""
    asked = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return asked.split()[1:]


def complete_policy(incomplete: str) -> list[str]:
    """Complete names of policies, and names of rules for a key, as in ``easy(allocator=``."""
    tables: dict[str, Iterable[str]] = {
        "order": policy.ORDERS,
        "backfill": policy.BACKFILLS,
        "allocator": policy.ALLOCATORS,
        "predictor": policy.PREDICTORS,
    }
    found = _KEY.fullmatch(incomplete)
    if found is not None:
        names = [name for name in tables.get(found["key"], ()) if name.startswith(found["begin"])]
        return [f"{found['before']}{name})" for name in names]
    known = {*policy.ORDERS, *policy.BACKFILLS, *policy.DISCIPLINES, *policy.SCHEDULERS} - {"none"}
    return sorted(name for name in known if name.startswith(incomplete))


def complete_machine(incomplete: str) -> list[str]:
    """Complete names of ready machines and platforms; without a match, the shell completes files."""
    names = [*machines.NAMES, *(f"platform:{name}" for name in platform_presets.MACHINES)]
    return [name for name in names if name.startswith(incomplete)]


def complete_log(incomplete: str) -> list[str]:
    """Complete names of logs of the archive; without a match, the shell completes files."""
    return [trace.name for trace in catalogue.entries() if incomplete and trace.name.startswith(incomplete)]


def complete_example(incomplete: str) -> list[str]:
    """Complete names of the examples of the package."""
    return [name for name in traces.EXAMPLES if name.startswith(incomplete)]


def numbers(text: str, option: str) -> dict[str, float]:
    """Parse ``core=1.667,gpu=933``.

    Parameters
    ----------
    text
        The option's value; an empty text has no numbers.
    option
        The option's name, for errors.

    Returns
    -------
    dict
        Resource name to number.
    """
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, number = _pair(part, option)
        if name in found:
            raise wrong_usage(f"{text!r}; names {name} twice. Leave one out.", option)
        found[name] = number
    return found


def _pair(part: str, option: str) -> tuple[str, float]:
    name, _, number = (each.strip() for each in part.partition("="))
    try:
        if name:
            return name, float(number)
    except ValueError:
        pass
    raise wrong_usage(f"{part!r}; must be resources and numbers, as in core=4,gpu=2.", option)


def amounts(text: str, option: str) -> dict[str, int]:
    """Parse ``core=4,gpu=2``: like `numbers`, but whole numbers only."""
    found = numbers(text, option)
    for name, number in found.items():
        if not number.is_integer():
            raise wrong_usage(f"{name}={number:g}; must be a whole number.", option)
    return {name: int(number) for name, number in found.items()}


def listed_numbers(text: str, option: str, what: str = "numbers separated by commas") -> list[float]:
    """Return the numbers of a list with commas; `what` they must be is for the error."""
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise wrong_usage(f"{text!r}; must be {what}.", option) from None


MACHINE, READING, RULES, OUTPUT = "Machine", "Reading the log", "Simulation", "Output"
"""Panels of the help."""

Format = Literal["text", "json"]


def whole_number(text: str, panel: str | None = None) -> object:
    """Describe an option with an integer >= 1."""
    return typer.Option(metavar="N", callback=at_least_one, rich_help_panel=panel, help=text)


def seed_number(text: str, panel: str | None = None) -> object:
    """Describe an option with a seed."""
    return typer.Option(metavar="N", callback=is_seed, rich_help_panel=panel, help=text)


def existing_file(text: str, panel: str | None = None, metavar: str = "FILE") -> object:
    """Describe an option with an existing file, a pipe, or ``-`` for standard input."""
    return typer.Option(
        metavar=metavar,
        exists=True,
        dir_okay=False,
        allow_dash=True,
        callback=_read_once,
        rich_help_panel=panel,
        help=text,
    )


def directory(text: str, panel: str | None = None, *, exists: bool = False) -> object:
    """Describe an option with a directory."""
    return typer.Option(metavar="DIR", exists=exists, file_okay=False, rich_help_panel=panel, help=text)


def out_directory(text: str, panel: str | None = None) -> object:
    """Describe the option with the directory of results."""
    return typer.Option("--out", "-o", metavar="DIR", file_okay=False, rich_help_panel=panel, help=text)


def out_file(text: str) -> object:
    """Describe the option with the file of the answer."""
    return typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        dir_okay=False,
        callback=is_in_directory,
        rich_help_panel=OUTPUT,
        help=text,
    )


def policy_spec(text: str, panel: str | None = None, default: str | None = None) -> object:
    """Describe the option with a policy."""
    return typer.Option(
        "--policy",
        "-p",
        metavar="SPEC",
        autocompletion=complete_policy,
        rich_help_panel=panel,
        help=text,
        show_default=default or True,
    )


def log_file(text: str) -> object:
    """Describe an argument with a log: a file, or the name of a fetched log."""
    return typer.Argument(metavar="TRACE", autocompletion=complete_log, help=text)


def system_file(text: str) -> object:
    """Describe an option with a machine: a file, or the name of a ready machine."""
    return typer.Option(
        metavar="FILE|NAME",
        callback=_located,
        autocompletion=complete_machine,
        rich_help_panel=MACHINE,
        help=text,
    )


def _read_once(parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Return a file that can be read again."""
    if value is None or (value.is_file() and str(value) != "-"):
        return value

    return cli_spooled.spooled(value, parameter.opts[0])


def _located(parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Return the file of a machine; for a ready machine, look it up by name."""
    if value is None:
        return None

    with naming(parameter.opts[0]):
        file = Path(read.located(_read_once(parameter, value) or value))
    if file.is_dir() and not (file / "slurm.conf").is_file():
        raise typer.BadParameter(f"{str(file)!r} is a folder without slurm.conf; name a file")
    if not file.exists() and not str(file).startswith("platform:"):
        raise typer.BadParameter(f"File {str(file)!r} does not exist.{beside(file)}")
    recognised.check_kind(file, "--system", "system", "platform", "slurm")
    return file


SystemFile = Annotated[
    Path | None,
    system_file(
        "Machine description (TOML, JSON), slurm.conf, or name of a ready machine (batchlab systems list)."
    ),
]
ExampleName = Annotated[
    str | None,
    typer.Option(
        "--example",
        metavar="NAME",
        autocompletion=complete_example,
        rich_help_panel=READING,
        help="Example log of the package, with its machine, in place of TRACE: slurm.",
    ),
]
Nodes = Annotated[
    int | None, whole_number("Number of identical nodes. [default: from the header of the log]", MACHINE)
]
Cores = Annotated[int | None, whole_number("Cores of each node. [default: 1 with --nodes]", MACHINE)]
Equivalence = Annotated[
    str | None,
    typer.Option(
        metavar="core=N",
        rich_help_panel=MACHINE,
        help="Cores for one processor of the log. [default: core=1]",
    ),
]

SlurmFolder = Annotated[
    Path,
    typer.Option(
        "--conf",
        metavar="DIR",
        exists=True,
        rich_help_panel=RULES,
        help="Directory with slurm.conf, or the file.",
    ),
]
AnyLog = Annotated[
    Path, typer.Argument(metavar="TRACE", help="Log, in any format of batchlab run: file, name, or -.")
]
Seed = Annotated[int, seed_number("Seed of random policies.", RULES)]
Fitted = Annotated[
    Path | None,
    existing_file(
        "Parameters written by `batchlab slurm fit --out`. Values set in slurm.conf take precedence.", RULES
    ),
    NeedsTables("shifts submissions"),
]

Observers = Annotated[
    list[str] | None,
    typer.Option(
        "--observer",
        metavar="FILE:CLASS",
        rich_help_panel=RULES,
        help="Observer class of a Python file: failures.py:Mine or failures.py:Mine(share=0.5). Repeatable.",
    ),
    NeedsTables("watches all jobs"),
]
NodeWatts = Annotated[
    list[str] | None,
    typer.Option(
        "--power",
        metavar="WATTS",
        rich_help_panel=RULES,
        help="Power of a node in watts: 'idle=90, busy=140, core=20' (core: per busy core). 'gpu: "
        "idle=300' for one node group; repeatable. cap=20000: limit for power-aware policies.",
    ),
    NeedsTables("watches all jobs"),
]
FailureTimes = Annotated[
    str | None,
    typer.Option(
        "--failures",
        metavar="SPEC",
        rich_help_panel=RULES,
        help="Node failures: 'outages.csv, on_failure=kill' or 'uptime=weibull(shape=0.7, "
        "scale=2.6e6), repair_time=3600, on_failure=requeue'.",
    ),
    NeedsTables("watches all jobs"),
]

ExternalEvents = Annotated[
    Path | None,
    existing_file(
        "External events: cancelled and killed jobs, nodes down and up, … (JSON lines or CSV).",
        RULES,
    ),
]

InitialStateFile = Annotated[
    Path | None,
    existing_file(
        "Initial state: running, waiting and past jobs; drained nodes (.csv, .parquet).",
        RULES,
    ),
    NeedsTables("places all jobs"),
]

NodeEvents = Annotated[
    Path | None,
    existing_file(
        "Node outages of a Slurm cluster: output of sacctmgr --parsable2 show event. "
        "Simulated jobs on these nodes are requeued; node failures in the log are ignored.",
        RULES,
    ),
    NeedsTables("is about logs of Slurm"),
]

Version = Annotated[
    str | None,
    typer.Option(
        "--slurm-version",
        metavar="V",
        rich_help_panel=RULES,
        help="Version of Slurm, such as 22.05.8. [default: the newest release that has all keys]",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
OutputFormat = Annotated[Format, typer.Option("--format", rich_help_panel=OUTPUT, help="Output format.")]
