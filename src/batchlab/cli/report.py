"""``batchlab report``: write a report on stored runs."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import Annotated

import typer

from batchlab.cli.failure import check_report
from batchlab.cli.written import Folders, SystemOfRuns, written_results

__all__ = ["report"]

_Page = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page, in HTML.")]
_Title = Annotated[str, typer.Option(metavar="TEXT", help="Its heading.")]
_Baseline = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="What the others are compared with; the first unless given."),
]


def report(
    folders: Folders,
    *,
    out: _Page = Path("report.html"),
    title: _Title = "Simulation report",
    baseline: _Baseline = None,
    system: SystemOfRuns = None,
) -> None:
    """Report on runs that were written, in one page that opens anywhere."""
    check_report(out, "--out")
    results = written_results(folders, system)
    from batchlab.report import write  # noqa: PLC0415  # --help does without

    write(results, out, title=title, baseline=baseline)
    typer.echo(f"report        {out}")
