"""``batchlab plot``: draw one plot of stored runs."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import is_in_directory, wrong_usage
from batchlab.cli.written import Folders, SystemOfRuns, written_results
from batchlab.errors import ResultError, suggest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot"]

_SUFFIXES = (".png", ".pdf", ".svg")


def _kinds() -> list[str]:
    """Return the names of the plots of results."""
    from batchlab.result.plots import plots_of_results  # noqa: PLC0415  # --help does without

    return sorted(plots_of_results())


_Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND", help="The plot: a name in batchlab.plot, such as gantt.", autocompletion=_kinds
    ),
]
_Picture = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FILE", callback=is_in_directory, help="The picture: .png, .pdf or .svg."
    ),
]
_Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Its title.")]


def plot(
    kind: _Kind,
    folders: Folders,
    *,
    out: _Picture,
    title: _Title = None,
    system: SystemOfRuns = None,
) -> None:
    """Draw runs that were written: distributions, courses over time, schedules."""
    if out.suffix.lower() not in _SUFFIXES:
        raise wrong_usage(f"{out}; must end in {', '.join(_SUFFIXES)}.", "--out")
    if kind not in _kinds():
        raise wrong_usage(f"{kind}; no plot of results has this name.{suggest(kind, _kinds())}", "KIND")
    results = written_results(folders, system)
    from batchlab import plot as plots  # noqa: PLC0415  # --help does without
    from batchlab.plot.picture import save_picture  # noqa: PLC0415  # as above

    figure: Figure | None = getattr(plots, kind)(results, title=title).get_figure(root=True)
    if figure is None:
        raise ResultError(f"{kind}: has drawn nothing.")
    try:
        save_picture(figure, out, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise ResultError(f"{out}: {error.strerror or error}. Choose another file.") from error
    typer.echo(f"plot          {out}")
