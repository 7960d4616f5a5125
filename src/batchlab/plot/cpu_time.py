"""Plot of the CPU time of the policy at each instant."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from batchlab.plot.canvas import INK, begin, choice, colour, dress, rows_size, say, tint
from batchlab.plot.distribution import KINDS, Kind, Quantity, Sample, distribution
from batchlab.plot.estimate import estimate
from batchlab.plot.results import Group, Results, groups
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["cpu_time"]

_WORK = {
    "decisions": (("cpu_time",), "of decisions"),
    "other": (("other_cpu_time",), "of all but decisions"),
    "all": (("cpu_time", "other_cpu_time"), "of the simulation"),
}


def cpu_time(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind | Literal["mean"] = "mean",
    of: Literal["decisions", "other", "all"] = "decisions",
    title: str | None = None,
) -> Axes:
    """Draw the CPU time that an instant of the simulation takes, one per policy (Fig. 12 of [1]).

    All scheduling passes of an instant count together.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications.
    ax
        The axes [default: new axes].
    kind
        ``"mean"``, with the 95 % confidence interval over replications if there are several; or the
        distribution over instants, pooled over replications, as ``"box"`` (quartiles, mean, whiskers at the
        5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    of
        ``"decisions"`` for the time of the scheduling passes, ``"other"`` for that of the simulation before
        them, ``"all"`` for both.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the passes were not recorded, or the kind is unknown.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("kind", kind, ("mean", *KINDS))
    choice("of", of, _WORK)
    columns, work = _WORK[of]
    found = groups(results)
    ax = begin(ax, title=title, size=rows_size(len(found)))
    if kind == "mean":
        return _means(ax, found, columns, work)
    spent = partial(_per_instant, columns=columns)
    samples = [Sample(each.label, np.concatenate([*map(spent, each.results)])) for each in found]
    quantity = Quantity(
        f"CPU time {work} per instant", "log", durations=True, of="instants", nothing="no pass was made"
    )
    return distribution(ax, samples, quantity, kind)


def _means(ax: Axes, found: Sequence[Group], columns: Sequence[str], work: str) -> Axes:
    spent = partial(_per_instant, columns=columns)
    means = [[float(each.mean()) for each in map(spent, group.results) if len(each)] for group in found]
    estimates = [estimate(values) for values in means]
    if not any(estimates):
        return say(ax, "no pass was made")
    for index, value in enumerate(estimates):
        if value is not None:
            ax.barh(index, value.mean, height=0.6, color=tint(colour(index), 0.6), edgecolor=colour(index))
        if value is not None and value.half_width is not None:
            ax.errorbar(value.mean, index, xerr=value.half_width, color=INK, capsize=3, linewidth=1.0)
    ax.set_yticks(range(len(found)), [group.label for group in found])
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"mean CPU time {work} per instant")
    duration_axis(ax, "x")
    return dress(ax, grid="x")


def _per_instant(result: Result, columns: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    passes = result.dispatch
    time, spent = passes["time"].to_numpy(), passes.select(pl.sum_horizontal(columns)).to_series().to_numpy()
    if not len(time):
        return spent
    begins = np.flatnonzero(np.concatenate([[True], time[1:] != time[:-1]]))
    return np.add.reduceat(spent, begins)
