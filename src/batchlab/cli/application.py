"""Build the command ``batchlab`` with its subcommands, run it, and handle its errors."""

import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer

from batchlab.cli import process
from batchlab.cli.commands import COMMANDS, DESCRIPTION, EPILOG, HOMES, VERSION_HELP, VERSIONS_HELP
from batchlab.cli.failure import explain
from batchlab.cli.guarded import guard
from batchlab.cli.options import completed_words
from batchlab.cli.process import INTERRUPTED
from batchlab.cli.wording import CommandOptions

__all__ = ["answer", "application", "command_line", "command_of"]

# What rich takes for a tag and leaves out of a text.
_TAG = re.compile(r"\[(?=[a-z#/@][^\[\]]*\])")


def _show_version(wanted: bool) -> None:
    if wanted:
        from batchlab import _kernel  # noqa: PLC0415  # --help does without the compiled module

        typer.echo(f"batchlab {_kernel.__version__}")
        raise typer.Exit


def _show_versions(wanted: bool) -> None:
    if wanted:
        from batchlab.core.installation import show_versions  # noqa: PLC0415  # as above

        show_versions()
        raise typer.Exit


def _batchlab(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help=VERSION_HELP),
    ] = False,
    _versions: Annotated[
        bool,
        typer.Option("--versions", callback=_show_versions, is_eager=True, help=VERSIONS_HELP),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def _named_only() -> None:
    """Stand in for a command that the words do not name."""


def command_of(name: str) -> Any:  # noqa: ANN401  # a function, or a group of commands
    """Import a command."""
    return getattr(import_module(f"batchlab.cli.{HOMES.get(name, name)}"), name)


def application(words: list[str]) -> typer.Typer:
    """Build the application: with the command that the words name, with the names of all, or with all.

    Parameters
    ----------
    words
        Words after the command's name. If none is the name of a command, the commands are not imported but
        only named, for ``--version``, for the suggestion of a name and for completions.

    Returns
    -------
    typer.Typer
        With its callback and commands.
    """
    made = typer.Typer(
        name="batchlab",
        help=DESCRIPTION,
        epilog=EPILOG,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_batchlab)
    named = words or completed_words()
    if named and COMMANDS.keys().isdisjoint(named):
        for name, line in COMMANDS.items():
            made.command(name, help=line)(_named_only)
        return made
    for name in named[:1] if named and named[0] in COMMANDS else COMMANDS:
        command = command_of(name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(cls=getattr(command, "command_class", None))(command)
    guard(made)
    return made


def command_line(words: list[str]) -> Any:  # noqa: ANN401  # typer brings its own click
    """Build the command of a command line, with its help in our layout."""
    command = typer.main.get_command(application(words))
    _prepare_help(command)
    return command


def answer(words: list[str]) -> int:
    """Run a command line.

    Parameters
    ----------
    words
        Words after the command's name.

    Returns
    -------
    int
        The exit code.
    """
    process.prepare()
    command = None
    try:
        command = command_line(words)
        # The command line is passed on for the manifest.
        code = command.main(words, "batchlab", standalone_mode=False, obj=shlex.join(["batchlab", *words]))
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # no traceback ever reaches the user
        if process.is_broken_pipe(error):
            process.discard()
            return 0
        process.discard_unwritable(error)
        path, options = _named(command, words)
        return explain(error, " ".join(["batchlab", *path]), options)
    finally:
        if "batchlab.cli.spooled" in sys.modules:
            from batchlab.cli.spooled import discard_spooled  # noqa: PLC0415  # most logs are files

            discard_spooled()
    if code == INTERRUPTED:
        # typer has caught the interruption.
        return explain(KeyboardInterrupt())
    return code if isinstance(code, int) else 0


def _named(command: Any, words: list[str]) -> tuple[list[str], CommandOptions]:  # noqa: ANN401  # typer brings its own click
    """Return the names of the command that the words name, and its options."""
    path: list[str] = []
    for word in words:
        inner = getattr(command, "commands", {}).get(word)
        if inner is None:
            break
        path, command = [*path, word], inner
    return path, CommandOptions() if command is None else CommandOptions.of(command, words)


def _prepare_help(command: Any) -> None:  # noqa: ANN401  # typer brings its own click
    """Set the layout of the help of a command and its subcommands, for when it is shown."""
    command.format_help = partial(_format_help, command, command.format_help)
    for each in getattr(command, "commands", {}).values():
        _prepare_help(each)


def _format_help(command: Any, own: Callable[[Any, Any], None], ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
    """Print the help of a command, and keep the brackets in its texts."""
    from batchlab.cli.help_layout import install  # noqa: PLC0415  # slow, and only help needs it

    install()
    for parameter in command.params:
        default = getattr(parameter, "show_default", None)
        if isinstance(default, str):
            # typer would put a described default into parentheses.
            parameter.help = f"{parameter.help} [default: {default}]"
            parameter.show_default = False
        if getattr(parameter, "help", None):
            # As in "[default: all jobs]".
            parameter.help = _TAG.sub(r"\\[", parameter.help)
    own(ctx, formatter)
