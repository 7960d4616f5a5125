"""Options shared by the commands on models of Slurm clusters."""

from pathlib import Path
from typing import Annotated

import typer

from batchlab.cli.options import OUTPUT, RULES

__all__ = ["PageFile", "Submission", "Trace", "Version"]

Trace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="The jobs: sacct, jobcomp, SWF, PBS, LSF, SGE, …, CSV (.gz, .bz2, .xz, .zip, .zst too) or "
        "Parquet; or the name of a fetched log (batchlab traces); - for standard input.",
    ),
]
Version = Annotated[
    str | None,
    typer.Option(
        "--slurm-version",
        metavar="V",
        rich_help_panel=RULES,
        help="Slurm's, as 22.05.8; the newest release that has all keys unless given.",
    ),
]
Submission = Annotated[
    float,
    typer.Option(
        metavar="S",
        min=0,
        rich_help_panel=RULES,
        help="Seconds from a job's submission until the controller knows it.",
    ),
]
PageFile = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Gets a report in HTML.")
]
