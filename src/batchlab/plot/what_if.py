"""Plot of the differences in the waits of groups of jobs between configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import ResultError, one_line, shown
from batchlab.plot.canvas import INK, annotate, begin, choice, colour, dress, legend, plot, rows_size
from batchlab.plot.scales import duration_axis
from batchlab.slurm.twin import WhatIf
from batchlab.slurm.twin.waits import GROUPED_BY, STATISTICS, GroupedBy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["what_if"]

_MOST_GROUPS = 15
_LONGEST = 24
_SAYS = {"mean": "mean wait", "median": "median wait", "p95": "95 % quantile of waits"}


@plot
def what_if(
    found: WhatIf,
    *,
    by: GroupedBy = "all",
    statistic: str = "mean",
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw how much waits exceed those of the first configuration, with their intervals.

    Parameters
    ----------
    found
        The study; if it has only one configuration, its waits are drawn.
    by
        The grouping: ``"all"``, ``"partition"``, ``"qos"``, ``"account"`` or ``"size"``; with the largest
        groups.
    statistic
        ``"mean"``, ``"median"`` or ``"p95"``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: a row for each group, and a point with its interval for each configuration.

    Raises
    ------
    ResultError
        If the study is invalid, or `by` or `statistic` is unknown.
    """
    if not isinstance(found, WhatIf):
        raise ResultError(f"found = {shown(found)}; must be a WhatIf, of bl.twin.what_if.")
    choice("by", by, GROUPED_BY)
    choice("statistic", statistic, STATISTICS)
    rows = found.table.filter(by=by, statistic=statistic)
    groups = rows["group"].unique(maintain_order=True).to_list()[:_MOST_GROUPS]
    names = [*found.twins][1:] or [found.first]
    ax = begin(ax, title=title, size=rows_size(len(groups) * len(names)))
    if not groups:
        return annotate(ax, f"The log does not tell its jobs apart by {by}.")
    apart = len(names) == len(found.twins) - 1
    for index, name in enumerate(names):
        of_name = rows.filter(pl.col("configuration") == name, pl.col("group").is_in(groups))
        _draw(ax, of_name, (index, len(names)), name, apart=apart)
    if apart:
        ax.axvline(0, color=INK, linewidth=0.8)
    else:
        ax.set_xlim(left=0)
    _label(
        ax, groups, f"{_SAYS[statistic]}{f' − that of {one_line(found.first, _LONGEST)}' if apart else ''}"
    )
    legend(ax, len(names))
    return dress(ax, grid="x")


def _draw(ax: Axes, rows: pl.DataFrame, place: tuple[int, int], name: str, *, apart: bool) -> None:
    columns = ("difference", "difference_low", "difference_high") if apart else ("wait", "low", "high")
    value, low, high = (rows[each].cast(pl.Float64).fill_null(np.nan).to_numpy() for each in columns)
    index, count = place
    height = np.arange(len(value)) + (index - (count - 1) / 2) * 0.6 / count
    reach = np.maximum([value - low, high - value], 0)
    ax.errorbar(
        value, height, xerr=reach, fmt="o", color=colour(index), markersize=4, linewidth=1.2, capsize=2,
        label=one_line(name, _LONGEST),
    )  # fmt: skip


def _label(ax: Axes, groups: Sequence[str], title: str) -> None:
    ax.set_yticks(range(len(groups)), [one_line(group, _LONGEST) for group in groups])
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_xlabel(title)
    duration_axis(ax, "x")
