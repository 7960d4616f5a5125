"""Options shared by the commands on models of Slurm clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.options import OUTPUT, RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.slurm.twin import Twin
    from batchlab.workload import Workload

__all__ = ["PageFile", "Submission", "Trace", "Version", "note_ignored"]

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


def note_ignored(workload: Workload, twins: Sequence[Twin]) -> None:
    """Print the requests of jobs that the twins do not use."""
    from batchlab.result.unused import ignored_requests, unfilled_nodes  # noqa: PLC0415  # --help does without

    lines = [line for each in twins for line in ignored_requests(workload, each.system)]
    lines += [line for each in twins for line in unfilled_nodes(workload, each.system, each.policy)]
    for line in dict.fromkeys(lines):
        typer.echo(f"note: {line}", err=True)
