"""``batchlab slurm``: check, fit and vary the configuration of a Slurm cluster."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.options import FormatOption, existing_file
from batchlab.cli.output import as_json
from batchlab.cli.slurm_fit import fit
from batchlab.cli.slurm_options import Version  # noqa: TC001  # here too
from batchlab.cli.slurm_report import report_lines
from batchlab.cli.slurm_what_if import what_if

if TYPE_CHECKING:
    from batchlab.slurm import Report

__all__ = ["slurm"]

slurm = typer.Typer(
    help="A cluster that runs Slurm: its configuration, as a simulation has it.", add_completion=False
)


@slurm.callback(invoke_without_command=True)
def _slurm(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


_Path = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", exists=True, help="The folder with slurm.conf, or the file; others are read beside it."
    ),
]
_Accounts = Annotated[Path | None, existing_file("What sacctmgr dump wrote; found in DIR unless given.")]
_Qos = Annotated[
    Path | None, existing_file("What sacctmgr show qos --parsable2 printed; found in DIR unless given.")
]
_All = Annotated[
    bool, typer.Option("--all", help="List the keys that are used, and those without effect, too.")
]


@slurm.command()
def check(
    path: _Path,
    *,
    version: Version = None,
    accounts: _Accounts = None,
    qos: _Qos = None,
    everything: _All = False,
    form: FormatOption = "text",
) -> None:
    """Tell what becomes of every key of a configuration.

    Exits with 1 where keys or options are there that no release of Slurm has.
    """
    from batchlab.slurm import check as checked  # noqa: PLC0415  # --help does without

    report: Report = checked(path, version=version, accounts=accounts, qos=qos, unknown="keep")
    if form == "json":
        typer.echo(as_json(report.to_dict()))
    else:
        typer.echo("\n".join(report_lines(report, everything=everything)))
    if report.counts["unknown"]:
        raise typer.Exit(1)


slurm.command()(fit)
slurm.command("what-if")(what_if)
