"""Plots of the adequacy of a model: measure P by number of jobs, and differences of single jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from batchlab.adequacy import Comparison, Reference
from batchlab.core import rules
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import INK, begin, choice, colour, dress, legend, line_style, plot, tint
from batchlab.plot.scales import duration_axis, log_axis, short_duration

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["adequacy_by_jobs", "adequacy_differences", "adequacy_starts"]

Comparisons: TypeAlias = Comparison | Iterable[Comparison] | Mapping[str, Comparison]
"""One comparison; several, which are numbered; or a mapping of labels to comparisons."""

Times: TypeAlias = Literal["start", "wait", "residence"]

_MOST_POINTS = 2000
_MOST_SHAPES = 5000
_MOST_STEMS = 400
_REFERENCE = "#7f7f7f"
_DECADES = (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000)
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
        text = f"reference {short_duration(limit)}"
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
        jobs, residence, ".", color=colour(0), markersize=2 if many else 5, rasterized=many, label="residence"
    )
    hollow = {"markersize": 2.0 if many else 4.0, "markerfacecolor": "none", "markeredgewidth": 0.7}
    ax.plot(jobs, wait, "o", color=colour(1), rasterized=many, label="wait", **hollow)  # type: ignore[arg-type]
    ax.set_xlabel("job, by arrival")
    ax.set_ylabel("model − real")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.margins(x=0.01)
    if log:
        _both_ways_log(ax, float(np.abs([residence, wait]).max()))
    else:
        duration_axis(ax, "y")
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
    ax.set_xlabel(f"{_TIMES[of]}, real")
    ax.set_ylabel(f"{_TIMES[of]}, model")
    duration_axis(ax, "x")
    duration_axis(ax, "y")
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
    ax.set_ylabel("measure P")
    ax.margins(x=0.01)
    if log:
        log_axis(ax, "x")
        log_axis(ax, "y", durations=True)
        return
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_ylim(bottom=0)
    duration_axis(ax, "y")


def _thinned(jobs: int) -> npt.NDArray[np.int64]:
    """Return the numbers at which a curve is drawn: all, or mostly small ones, where it changes most."""
    if jobs <= _MOST_POINTS:
        return np.arange(1, jobs + 1)
    half = _MOST_POINTS // 2
    counts = np.concatenate([np.geomspace(1, jobs, half), np.linspace(1, jobs, half)])
    return np.unique(counts.round().astype(np.int64))


def _both_ways_log(ax: Axes, greatest: float) -> None:
    """Make the axis of differences logarithmic beyond 1 s, with ticks at durations."""
    ax.set_yscale("symlog", linthresh=1.0)
    ticks = [tick for tick in _DECADES if tick <= max(greatest, 1)]
    ax.yaxis.set_major_locator(FixedLocator([*(-tick for tick in reversed(ticks)), 0, *ticks]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_duration(value)))
    ax.yaxis.set_minor_locator(NullLocator())
