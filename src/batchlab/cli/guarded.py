"""Output protection for all commands (`batchlab.core.outputs`): never replace inputs or foreign files."""

from __future__ import annotations

import inspect
import re
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from batchlab.core.late import core_outputs
from batchlab.core.late import experiment_runs as runs
from batchlab.core.late import result_manifest as manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


__all__ = ["OUTPUTS", "check_named", "guard", "output_parameters"]

OUTPUTS = ("out", "report", "dispatch", "events", "record")
"""Parameters of commands that name outputs."""

# Commands with input files that name outputs too.
_NAMED_IN_FILES = ("experiment", "elastisim")
# Parameters with free text, which may look like a file name.
_TEXTS = ("title", "baseline")
_PART = re.compile(r"[=:,]")
_HELP = "Replace files that batchlab did not write. Inputs are never replaced."


def guard(made: typer.Typer) -> None:
    """Add ``--overwrite`` to each command that writes files, and check the rule before the command runs.

    Parameters
    ----------
    made
        Commands, and groups of commands.
    """
    for group in made.registered_groups:
        if group.typer_instance is not None:
            guard(group.typer_instance)
    for info in made.registered_commands:
        if info.callback is not None and output_parameters(info.callback):
            info.callback = _guarded(info.callback)


def output_parameters(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command that name outputs; empty if the command is guarded already."""
    found = inspect.signature(command, eval_str=True).parameters
    if "overwrite" in found:
        return {}
    return {name: found[name] for name in OUTPUTS if name in found and _is_path(found[name])}


def _is_path(parameter: inspect.Parameter) -> bool:
    kinds = get_args(parameter.annotation)[:1]
    return any(Path in (kind, *get_args(kind)) for kind in kinds)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(command, eval_str=True)
    outputs = output_parameters(command)

    @wraps(command)
    def checked(*args: object, overwrite: bool, **values: object) -> None:
        written = {name: Path(str(values[name])) for name in outputs if values[name] is not None}
        if not written and command.__name__ not in _NAMED_IN_FILES:
            command(*args, **values)
            return

        inputs = [*_inputs({name: value for name, value in values.items() if name not in outputs})]
        with core_outputs.protecting(inputs, overwrite=overwrite):
            for name, path in written.items():
                check_named(command.__name__, name, path)
            command(*args, **values)

    flag = inspect.Parameter(
        "overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_flag(outputs.values())
    )
    parameters = [*signature.parameters.values(), flag]
    checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads it
    checked.__annotations__ = {each.name: each.annotation for each in parameters}
    return checked


def _flag(outputs: Iterable[inspect.Parameter]) -> object:
    """Return the option ``--overwrite``, in the help panel of the output options."""
    options = [each for parameter in outputs for each in get_args(parameter.annotation)[1:]]
    panel = next((each.rich_help_panel for each in options if each.rich_help_panel), None)
    return Annotated[bool, typer.Option("--overwrite", rich_help_panel=panel, help=_HELP)]


def _inputs(values: Mapping[str, object]) -> Iterator[Path]:
    """Find the existing files and folders that option values name, also as part of a text."""
    for name, value in values.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(each, str | Path) or name in _TEXTS:
                continue
            for text in dict.fromkeys([str(each), *map(str.strip, _PART.split(str(each)))]):
                if text and _exists(Path(text)):
                    yield Path(text)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        # Not a valid file name.
        return False


def check_named(command: str, name: str, path: Path) -> None:
    """Check one output before a command starts its work.

    Parameters
    ----------
    command
        The name of the command's function.
    name
        The parameter that names the output, one of `OUTPUTS`.
    path
        The file, or for `out` of some commands the directory.

    Raises
    ------
    OutputError
        If the file exists and must not be replaced.
    """
    if name != "out" or command not in _SETS:
        core_outputs.check_output(path)
    elif path.is_dir():
        core_outputs.check_set(path, [each.name for each in path.iterdir() if _SETS[command](each.name)])


def _is_of_run(name: str) -> bool:

    return manifest.is_output(name)


def _is_of_experiment(name: str) -> bool:

    return runs.is_output(name)


def _is_of_virtual_nodes(name: str) -> bool:
    return name in {"jobs.csv", "model.csv", "metrics.json", "jobcomp.txt", "sacct.txt"}


# Commands that write a directory, with a test for the file names that they write.
_SETS: dict[str, Callable[[str], bool]] = {
    "run": _is_of_run,
    "demo": _is_of_run,
    "elastisim": _is_of_run,
    "compare": _is_of_experiment,
    "experiment": _is_of_experiment,
    "vnodes": _is_of_virtual_nodes,
}
