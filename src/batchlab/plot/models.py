"""Models next to what they are of: adequacy, fits of a twin, and what-if studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from batchlab.adequacy import Comparison, Reference
from batchlab.core import rules
from batchlab.errors import ResultError, one_line, shown
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
from batchlab.plot.scales import duration_axis, log_axis
from batchlab.slurm.twin import Fit, WhatIf
from batchlab.slurm.twin.log import GROUPED_BY, STATISTICS, GroupedBy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["adequacy_by_jobs", "adequacy_differences", "adequacy_starts", "fit_search", "what_if"]


Comparisons: TypeAlias = Comparison | Iterable[Comparison] | Mapping[str, Comparison]
"""One comparison; several, which are numbered; or a mapping of labels to comparisons."""

Times: TypeAlias = Literal["start", "wait", "residence"]

_MOST_POINTS = 2000
_MOST_SHAPES = 5000
_MOST_STEMS = 400
_REFERENCE = "#7f7f7f"
_DECADES = tuple(10**power for power in range(9))
_TIMES: dict[Times, str] = {
    "start": "start of the job",
    "wait": "wait of the job",
    "residence": "time from submission to end",
}


@plot
def adequacy_by_jobs(
    comparisons: Comparisons,
    *,
    reference: Reference | float | None = None,
    ax: Axes | None = None,
    log: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the measure P over the first k jobs, by k, as in Table I of the paper.

    Parameters
    ----------
    comparisons
        One comparison, several, or a mapping of labels to them.
    reference
        The reference value: a `Reference`, whose band (from the least to the greatest P of its pairs), median
        and value over as many jobs are drawn; or seconds [default: that of the comparison].
    log
        True for logarithmic scales, on which the line has gaps where P = 0.

    Raises
    ------
    ResultError
        If a comparison is invalid, or the reference is not a number of seconds.

    References
    ----------
    A. Baranov, D. Lyakhovets, G. Savin, B. Shabanov and P. Telegin, "Measure of adequacy for the
    supercomputer job management system model", Table I.
    """
    found = _labelled(comparisons)
    ax = begin(ax, title=title)
    limit = _limit(reference, found)
    if isinstance(reference, Reference):
        _draw_band(ax, reference)
    for index, (label, comparison) in enumerate(found.items()):
        jobs = _thinned(len(comparison))
        style = {"color": colour(index), "linestyle": line_style(index), "linewidth": 1.4}
        ax.plot(jobs, comparison.curve[jobs - 1], label=label, **style)  # type: ignore[arg-type]
    if limit is not None:
        text = f"reference {limit:,.4g} s"
        ax.axhline(limit, color=INK, linewidth=0.9, linestyle="--", label=text)
    _scale(ax, log=log and any(comparison.P for comparison in found.values()))
    legend(ax, len(ax.get_legend_handles_labels()[0]))
    return dress(ax, grid="both")


@plot
def adequacy_differences(
    comparison: Comparison, *, ax: Axes | None = None, log: bool = False, title: str | None = None
) -> Axes:
    """Draw the differences of the times of each job: above 0 they are longer in the model.

    Parameters
    ----------
    comparison
        The comparison.
    log
        True for a scale of differences that is logarithmic beyond 1 s, in both directions.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the jobs in the order of arrival, with their differences of residence times (from submission
        to end) and of waits.

    Raises
    ------
    ResultError
        If the comparison is invalid.
    """
    found = _single(comparison)
    ax = begin(ax, title=title)
    jobs = np.arange(1, len(found) + 1)
    residence, wait = (found.differences[f"{of}_difference"].to_numpy() for of in ("residence", "wait"))
    ax.axhline(0, color=INK, linewidth=0.8)
    if len(found) <= _MOST_STEMS:
        ax.vlines(jobs, 0, residence, color=tint(colour(0)), linewidth=0.8)
    many = len(found) > _MOST_SHAPES
    ax.plot(
        jobs,
        residence,
        ".",
        color=colour(0),
        markersize=2 if many else 5,
        rasterized=many,
        label="turnaround",
    )
    hollow = {"markersize": 2.0 if many else 4.0, "markerfacecolor": "none", "markeredgewidth": 0.7}
    ax.plot(jobs, wait, "o", color=colour(1), rasterized=many, label="wait", **hollow)  # type: ignore[arg-type]
    ax.set_xlabel("job, by arrival")
    ax.set_ylabel("model − real, s")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.margins(x=0.01)
    if log:
        _both_ways_log(ax, float(np.abs([residence, wait]).max()))
    else:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    legend(ax, 2)
    return dress(ax, grid="y")


@plot
def adequacy_starts(
    comparison: Comparison, *, ax: Axes | None = None, of: Times = "start", title: str | None = None
) -> Axes:
    """Draw the times of jobs in the model against those in the real stream: on the line they are equal.

    Parameters
    ----------
    comparison
        The comparison.
    of
        ``"start"``, ``"wait"``, or ``"residence"``, the time from submission to end.

    Raises
    ------
    ResultError
        If the comparison is invalid, or `of` is unknown.
    """
    choice("of", of, _TIMES)
    found = _single(comparison)
    ax = begin(ax, title=title, size=(6.0, 4.2))
    real, model = (found.differences[f"{side}_{of}"].to_numpy() for side in ("real", "model"))
    low, high = float(min(real.min(), model.min())), float(max(real.max(), model.max()))
    ax.plot([low, high], [low, high], color=INK, linewidth=0.6, zorder=0)
    same = real == model
    many = len(found) > _MOST_SHAPES
    for index, (part, label) in enumerate(((same, "the same"), (~same, "different"))):
        style = {"color": colour(index), "markersize": 2 if many else 5, "rasterized": many}
        name = f"{label} ({np.count_nonzero(part):,})"
        ax.plot(real[part], model[part], ".", label=name, alpha=0.7, **style)  # type: ignore[arg-type]
    ax.set_xlabel(f"{_TIMES[of]}, real, s")
    ax.set_ylabel(f"{_TIMES[of]}, model, s")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    legend(ax, 2)
    return dress(ax, grid="both")


def _labelled(comparisons: Comparisons) -> dict[str, Comparison]:
    if isinstance(comparisons, Comparison):
        return {"P": comparisons}
    if not isinstance(comparisons, Iterable):
        raise _no_comparison(comparisons)
    named = comparisons.items() if isinstance(comparisons, Mapping) else enumerate(comparisons, 1)
    found = {str(name): _single(each) for name, each in named}
    if not found:
        raise ResultError("comparisons is empty; give at least one, of bl.adequacy.compare.")
    return found


def _single(comparison: object) -> Comparison:
    if not isinstance(comparison, Comparison):
        raise _no_comparison(comparison)
    return comparison


def _no_comparison(value: object) -> ResultError:
    return ResultError(f"comparison = {shown(value)}; must be a Comparison, of bl.adequacy.compare.")


def _limit(reference: Reference | float | None, found: Mapping[str, Comparison]) -> float | None:
    """Return the given reference value, for as many jobs, or the one common to all comparisons."""
    if isinstance(reference, Reference):
        jobs = {len(each) for each in found.values()}
        return reference.at(jobs.pop()) if len(jobs) == 1 else None
    if reference is None:
        known = {each.P_max for each in found.values()}
        return known.pop() if len(known) == 1 else None
    rule = rules.Number(0, unit="seconds", hint="or a Reference")
    return rules.check(ResultError, "reference", reference, rule)


def _draw_band(ax: Axes, reference: Reference) -> None:
    low, high = reference.band()
    (median, _) = reference.band(0.5, 0.5)
    pairs = reference.pairs.height
    if pairs > 1:
        ax.fill_between(
            reference.counts, low, high, color=tint(_REFERENCE), linewidth=0, label=f"{pairs} reference pairs"
        )
    label = "their median" if pairs > 1 else "the reference pair"
    ax.plot(reference.counts, median, color=_REFERENCE, linewidth=1.0, label=label)


def _scale(ax: Axes, *, log: bool) -> None:
    ax.set_xlabel("first jobs by arrival, k")
    ax.set_ylabel("measure P, s")
    ax.margins(x=0.01)
    if log:
        log_axis(ax, "x")
        log_axis(ax, "y")
        return
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))


def seconds(value: float) -> str:
    """Format seconds for a tick, the unit of P, which the label of the axis names."""
    return f"{value:,.10g}".replace("-", "−")


def _thinned(jobs: int) -> npt.NDArray[np.int64]:
    """Return the numbers at which a curve is drawn: all, or mostly small ones, where it changes most."""
    if jobs <= _MOST_POINTS:
        return np.arange(1, jobs + 1)
    half = _MOST_POINTS // 2
    counts = np.concatenate([np.geomspace(1, jobs, half), np.linspace(1, jobs, half)])
    return np.unique(counts.round().astype(np.int64))


def _both_ways_log(ax: Axes, greatest: float) -> None:
    """Make the axis of differences logarithmic beyond 1 s."""
    ax.set_yscale("symlog", linthresh=1.0)
    ticks = [tick for tick in _DECADES if tick <= max(greatest, 1)]
    ax.yaxis.set_major_locator(FixedLocator([*(-tick for tick in reversed(ticks)), 0, *ticks]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    ax.yaxis.set_minor_locator(NullLocator())


@plot
def fit_search(found: Fit, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the distance of each trial from the log on the train period, and the best so far.

    Parameters
    ----------
    found
        The fit.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: typical distances in seconds, on a logarithmic scale.

    Raises
    ------
    ResultError
        If the fit is invalid.
    """
    if not isinstance(found, Fit):
        raise ResultError(f"found = {shown(found)}; must be a Fit, of bl.twin.fit.")
    ax = begin(ax, title=title)
    number = found.trials["trial"].to_numpy()
    # A distance of 0 has no logarithm.
    distance = np.maximum(found.trials["discrepancy"].to_numpy(), 1e-3)
    ax.plot(number, distance, ".", color=colour(6), markersize=4, label="trial")
    ax.step(number, np.minimum.accumulate(distance), where="post", color=colour(0), label="best so far")
    ax.set_xlabel("trial")
    ax.set_ylabel("typical distance from the log")
    log_axis(ax, "y", durations=True)
    legend(ax, 2)
    return dress(ax, grid="y")


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
