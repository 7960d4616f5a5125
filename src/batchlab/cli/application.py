"""The command ``batchlab`` and its subcommands, put together; and the one place where they end."""

import os
import shlex
import sys
from typing import Annotated

import typer

from batchlab.cli.adequacy import adequacy
from batchlab.cli.compare import compare
from batchlab.cli.demo import demo
from batchlab.cli.elastisim import elastisim
from batchlab.cli.experiment import experiment
from batchlab.cli.failure import INTERRUPTED, explain
from batchlab.cli.generate import generate
from batchlab.cli.mix import mix
from batchlab.cli.platform import platform
from batchlab.cli.plot import plot
from batchlab.cli.policies import policies
from batchlab.cli.report import report
from batchlab.cli.run import run
from batchlab.cli.slurm import slurm
from batchlab.cli.systems import systems
from batchlab.cli.traces import traces
from batchlab.cli.vnodes import vnodes
from batchlab.cli.watch import watch

__all__ = ["answer"]

application = typer.Typer(
    name="batchlab",
    help="The laboratory for HPC batch scheduling: replay a workload on a machine under a policy.",
    epilog="Begin with: batchlab demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from batchlab import _kernel  # noqa: PLC0415  # --help does without the compiled module

        typer.echo(f"batchlab {_kernel.__version__}")
        raise typer.Exit


@application.callback(invoke_without_command=True)
def _batchlab(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


application.command()(run)
application.command()(compare)
application.command()(experiment)
application.command()(report)
application.command()(plot)
application.command()(demo)
application.command()(elastisim)
application.command()(generate)
application.command()(mix)
application.command()(platform)
application.command()(policies)
application.command()(adequacy)
application.command()(vnodes)
application.command()(watch)
application.add_typer(slurm, name="slurm")
application.add_typer(systems, name="systems")
application.add_typer(traces, name="traces")


def answer(words: list[str]) -> int:
    """Do what a command line says.

    Parameters
    ----------
    words
        What follows the command's name.

    Returns
    -------
    int
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows no "×" shows "?" rather than an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        command = typer.main.get_command(application)
        # The command line is handed on for the manifest.
        code = command.main(words, "batchlab", standalone_mode=False, obj=shlex.join(["batchlab", *words]))
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # no traceback ever reaches the user
        # typer makes an exit with 1 of a broken pipe.
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            # The reader has all it wanted; the interpreter must not fail when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return explain(error)
    if code == INTERRUPTED:
        # typer has caught it.
        return explain(KeyboardInterrupt())
    return code if isinstance(code, int) else 0
