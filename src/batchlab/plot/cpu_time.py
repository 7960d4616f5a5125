"""How much CPU time the policy takes whenever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

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


def cpu_time(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind | Literal["mean"] = "mean",
    title: str | None = None,
) -> Axes:
    """Draw the CPU time that decisions take at an instant of the simulation, one per policy (Fig. 12 of [1]).

    All scheduling passes of an instant count together. What the simulator itself does is not in it.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications.
    ax
        The axes to draw on; new ones unless given.
    kind
        ``"mean"``, with the 95 % confidence interval over replications where there are some; or the
        distribution over instants, of all replications together, as ``"box"`` (quartiles, mean, whiskers at
        the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If the passes were not recorded, or there is no such kind.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("kind", kind, ("mean", *KINDS))
    found = groups(results)
    ax = begin(ax, title=title, size=rows_size(len(found)))
    if kind == "mean":
        return _means(ax, found)
    samples = [Sample(each.label, np.concatenate([*map(_per_instant, each.results)])) for each in found]
    quantity = Quantity(
        "CPU time of decisions per instant", "log", durations=True, of="instants", nothing="no pass was made"
    )
    return distribution(ax, samples, quantity, kind)


def _means(ax: Axes, found: Sequence[Group]) -> Axes:
    means = [
        [float(each.mean()) for each in map(_per_instant, group.results) if len(each)] for group in found
    ]
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
    ax.set_xlabel("mean CPU time of decisions per instant")
    duration_axis(ax, "x")
    return dress(ax, grid="x")


def _per_instant(result: Result) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    passes = result.dispatch
    time, spent = passes["time"].to_numpy(), passes["cpu_time"].to_numpy()
    if not len(time):
        return spent
    begins = np.flatnonzero(np.concatenate([[True], time[1:] != time[:-1]]))
    return np.add.reduceat(spent, begins)
