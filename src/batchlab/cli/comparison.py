"""Runs told to people: what came of each policy, and what that cost."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from batchlab.experiment.dispersion import LABELS
from batchlab.units import format_duration, format_energy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.experiment import Runs

__all__ = ["Table", "tables", "tell"]

_MANY = 1000


@dataclass(frozen=True)
class Table:
    """Rows of text, the first of them titles, and what is to be said of them."""

    rows: Sequence[Sequence[str]]
    note: str


@dataclass(frozen=True)
class _Column:
    """Which number a column shows, and how it is written."""

    title: str
    metric: str
    written: Callable[[float], str]


def tables(runs: Runs) -> list[Table]:
    """Put the tables together: measures of the schedules, and costs.

    Parameters
    ----------
    runs
        What was run.

    Returns
    -------
    list of Table
        Without columns of which there is no number.
    """
    several = [name for name in LABELS if runs.table[name].n_unique() > 1]
    labels = several if "policy" in several else [*several, "policy"]
    groups: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in runs.summary(labels).iter_rows(named=True):
        groups.setdefault(tuple(row[name] for name in labels), {})[row["metric"]] = row
    resource = next((name for name in runs.table.columns if name.startswith("utilisation_")), "")
    measures = (
        _Column("mean wait", "wait_mean", format_duration),
        _Column("median wait", "wait_median", format_duration),
        _Column("bounded slowdown", "bounded_slowdown_mean", _number),
        _Column("longest queue", "queue_length_max", _number),
        _Column("makespan", "makespan", format_duration),
        _Column(
            f"{resource.removeprefix('utilisation_')} in use", resource, lambda share: f"{100 * share:.1f} %"
        ),
        _Column("energy", "energy_total", format_energy),
    )
    costs = (
        _Column("CPU time", "cpu_time", _seconds),
        _Column("of it decisions", "dispatch_cpu_time", _seconds),
        _Column("memory", "memory_average", _megabytes),
        _Column("memory at most", "memory_maximum", _megabytes),
    )
    interval = "Means; ± is half their 95 % confidence interval (Student's t)."
    deviation = "Means of what a run cost; ± is the standard deviation."
    return [
        _table(labels, groups, measures, "high", interval),
        _table(labels, groups, costs, "standard_deviation", deviation),
    ]


def _table(
    labels: Sequence[str],
    groups: dict[tuple[str, ...], dict[str, dict[str, Any]]],
    columns: Sequence[_Column],
    spread: str,
    note: str,
) -> Table:
    there = [each for each in columns if any(_mean(found, each) is not None for found in groups.values())]
    rows = [[*labels, *(each.title for each in there)]]
    varied = False
    for group, found in groups.items():
        cells = [_cell(found.get(each.metric, {}), each, spread) for each in there]
        varied |= any("±" in cell for cell in cells)
        rows.append([*group, *cells])
    return Table(rows, note if varied else "")


def _mean(found: dict[str, dict[str, Any]], column: _Column) -> float | None:
    mean: float | None = found.get(column.metric, {}).get("mean")
    return mean


def _cell(row: dict[str, Any], column: _Column, spread: str) -> str:
    mean, other = row.get("mean"), row.get(spread)
    if mean is None:
        return "–"
    width = 0.0 if other is None else other - (mean if spread == "high" else 0)
    # Runs that are alike differ in the last digit of their mean at most.
    return column.written(mean) + (f" ± {column.written(width)}" if width > 1e-9 * abs(mean) else "")


def tell(table: Table) -> None:
    """Print a table: with lines on a terminal, else plain."""
    if sys.stdout.isatty():
        _draw(table)
    else:
        widths = [max(map(len, column)) for column in zip(*table.rows, strict=True)]
        for row in table.rows:
            first, *others = (
                f"{cell:{'>' if index else '<'}{width}}"
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            typer.echo("  ".join([first, *others]).rstrip())
    if table.note:
        typer.echo(table.note)


def _draw(table: Table) -> None:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415  # only for terminals
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    titles, *rows = table.rows
    drawn = Drawn(box=SIMPLE_HEAD, pad_edge=False)
    for index, title in enumerate(titles):
        drawn.add_column(title, justify="right" if index else "left")
    for row in rows:
        # Labels are text of the user's, whose brackets are no markup.
        drawn.add_row(*map(Text, row))
    Console().print(drawn)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= _MANY else f"{value:.3g}"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"  # noqa: PLR2004  # to three digits


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.3g} MB" if value < _MANY * 1e6 else f"{value / 1e6:,.0f} MB"
