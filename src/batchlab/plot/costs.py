"""Costs of scheduling: CPU time and memory of passes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from batchlab.plot.canvas import (
    INK,
    annotate,
    begin,
    choice,
    colour,
    dress,
    legend,
    line_style,
    plot,
    rows_size,
    tint,
)
from batchlab.plot.distribution import KINDS, Kind, Quantity, Sample, distribution
from batchlab.plot.over_time import Line, Steps, over_time
from batchlab.plot.results import Group, Results, clock_of_groups, estimate, groups
from batchlab.plot.scales import Values, duration_axis, log1p_axis, log_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["cpu_time", "cpu_time_by_queue_size", "memory"]

_WORK = {
    "decisions": (("cpu_time",), "of decisions"),
    "other": (("other_cpu_time",), "of all but decisions"),
    "all": (("cpu_time", "other_cpu_time"), "of the simulation"),
}


@plot
def cpu_time(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind | Literal["mean"] = "mean",
    of: Literal["decisions", "other", "all"] = "decisions",
    title: str | None = None,
) -> Axes:
    """Draw the CPU time of an instant of the simulation (Fig. 12 of [1]), one per policy.

    All scheduling passes of an instant count together.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications.
    kind
        ``"mean"``, with the 95 % confidence interval over replications if there are several; or the
        distribution over instants, pooled over replications, as ``"box"`` (quartiles, mean, whiskers at the
        5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    of
        ``"decisions"`` for the time of the scheduling passes, ``"other"`` for that of the simulation before
        them, ``"all"`` for both.

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
        return annotate(ax, "no pass was made")
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


_EXACT_TO = 10
_BINS_PER_DECADE = 12
_QUARTILES = (25, 75)
_MOST_BANDS = 2


@plot
def cpu_time_by_queue_size(
    results: Results, *, ax: Axes | None = None, band: bool | None = None, title: str | None = None
) -> Axes:
    """Draw the CPU time of a pass by the length of the queue (Fig. 13 of [1]): its mean.

    Up to 10 jobs, every length has a point; longer lengths are grouped, with 12 points to each power of ten,
    at the mean of their lengths. Replications are pooled.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications.
    band
        True to show the middle half of the passes, from the first to the third quartile [default: True up to
        two groups].

    Raises
    ------
    ResultError
        If the passes were not recorded.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    found = groups(results)
    ax = begin(ax, title=title)
    band = len(found) <= _MOST_BANDS if band is None else band
    longest = -1
    for index, group in enumerate(found):
        length, spent = _passes(group)
        if len(length):
            longest = max(longest, int(length.max()))
            _draw(ax, index, group.label, _binned(length, spent, quartiles=band), band=band)
    if longest < 0:
        return annotate(ax, "no pass was made")
    ax.set_xlabel("jobs in the queue")
    ax.set_ylabel("CPU time of a scheduling pass")
    log1p_axis(ax, "x", longest)
    ax.set_xlim(-0.15, max(longest, 1) * 1.05)
    log_axis(ax, "y", durations=True)
    legend(ax, len(found))
    return dress(ax, grid="both")


def _passes(group: Group) -> tuple[Integers, Floats]:
    tables = [result.dispatch for result in group.results]
    length = np.concatenate([table["queue_length"].to_numpy().astype(np.int64) for table in tables])
    return length, np.concatenate([table["cpu_time"].to_numpy() for table in tables])


def _binned(length: Integers, spent: Floats, *, quartiles: bool) -> Floats:
    """Return float64, shape (bins, 4): mean length, mean time, and its quartiles if requested, else NaN."""
    # There are millions of passes, but only thousands of lengths: the bin of each length is computed once.
    lengths = np.arange(int(length.max()) + 1)
    beyond = np.ceil(_BINS_PER_DECADE * np.log10(np.maximum(lengths, _EXACT_TO) / _EXACT_TO))
    bins = np.where(lengths <= _EXACT_TO, lengths, _EXACT_TO + beyond).astype(np.int16)[length]
    counts = np.bincount(bins)
    there = np.flatnonzero(counts)
    means = [np.bincount(bins, values)[there] / counts[there] for values in (length, spent)]
    between = np.full((2, len(there)), np.nan)
    if quartiles:
        parts = np.split(spent[np.argsort(bins, kind="stable")], np.cumsum(counts[there])[:-1])
        between = np.transpose([np.percentile(part, _QUARTILES) for part in parts])
    return np.column_stack([*means, *between])


def _draw(ax: Axes, index: int, label: str, points: Floats, *, band: bool) -> None:
    hue = colour(index)
    ax.plot(
        points[:, 0],
        points[:, 1],
        "o",
        ls=line_style(index),
        color=hue,
        markersize=3,
        linewidth=1.2,
        label=label,
    )
    if band:
        ax.fill_between(points[:, 0], points[:, 2], points[:, 3], color=tint(hue, 0.15), linewidth=0)


_MEGABYTE = 1e6


@plot
def memory(
    results: Results, *, ax: Axes | None = None, window: float | None = None, title: str | None = None
) -> Axes:
    """Draw the memory of the process after each pass, a line per policy.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications, whose mean is drawn.
    window
        Seconds over which means are taken; 0 draws every step, None chooses by the number of steps.

    Raises
    ------
    ResultError
        If the passes were not recorded, or the window is not a duration.
    """
    found = groups(results)
    lines = [Line(each.label, tuple(map(_course, each.results)), index) for index, each in enumerate(found)]
    values = Values("resident memory, MB")
    return over_time(begin(ax, title=title), lines, values, window=window, clock=clock_of_groups(found))


def _course(result: Result) -> Steps:
    passes = result.dispatch.drop_nulls("memory").group_by("time", maintain_order=True).last()
    return Steps(passes["time"].to_numpy(), passes["memory"].to_numpy().astype(np.float64) / _MEGABYTE)
