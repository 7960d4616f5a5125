"""``batchlab plot``: draw one plot of stored runs."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from batchlab.cli.failure import is_in_directory, wrong_usage
from batchlab.cli.written import Folders, SystemOfRuns, written_results
from batchlab.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PlotKind", "plot"]

PlotKind: TypeAlias = Literal[
    "allocation_efficiency",
    "allocation_map",
    "allocations",
    "arrivals",
    "cpu_time",
    "cpu_time_by_queue_size",
    "fair_share",
    "fragmentation",
    "free_nodes",
    "free_slots",
    "gantt",
    "gflops",
    "hop_bytes",
    "hops",
    "interference",
    "job_nodes",
    "job_sizes",
    "job_times",
    "link_loads",
    "load",
    "memory",
    "platform_activity",
    "power",
    "power_states",
    "queue_size",
    "rates",
    "run_times",
    "scalability",
    "slowdown",
    "turnaround",
    "utilisation",
    "wait",
    "waiting_reasons",
]
"""Plots of results in `batchlab.plot`."""

_SUFFIXES = (".png", ".pdf", ".svg")

_Kind = Annotated[
    PlotKind, typer.Argument(metavar="KIND", help="Which plot: a name in batchlab.plot, as gantt.")
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
