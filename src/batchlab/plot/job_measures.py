"""Plots of the distributions of waits, turnarounds and slowdowns of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import ResultError
from batchlab.plot.canvas import annotate, begin, colour, dress, legend, line_style, plot, rows_size
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.results import Group, Results, by_policy, estimate, groups, jobs_of
from batchlab.plot.scales import log_axis
from batchlab.result import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from matplotlib.axes import Axes

    from batchlab.plot.distribution import Scale
    from batchlab.result.result import Result

__all__ = ["allocation_efficiency", "scalability", "slowdown", "turnaround", "wait"]


@plot
def wait(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = True,
    outliers: bool = False,
    zoom: tuple[float, float] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of waits, from submission to start: one per policy and machine.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose jobs are pooled.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    log
        True for an axis that is logarithmic above a second, and begins at 0.
    outliers
        True to draw jobs beyond the whiskers of boxes as dots.
    zoom
        A range of waits, in seconds, that cumulative curves show again, enlarged.

    Raises
    ------
    ResultError
        If an argument is invalid.
    """
    samples = _samples(results, lambda each: metrics.wait(jobs_of(each)))
    quantity = Quantity("wait", "log1p" if log else "linear", durations=True)
    return _drawn(samples, quantity, kind, ax, title, outliers=outliers, zoom=zoom)


@plot
def turnaround(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = True,
    outliers: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of turnarounds, from submission to end (Fig. 5 of [1]): one per policy.

    Parameters
    ----------
    results, ax, kind, outliers, title
        As for `wait`.
    log
        True for a logarithmic axis.

    Raises
    ------
    ResultError
        If an argument is invalid.

    References
    ----------
    [1] T. Özden, T. Beringer, A. Mazaheri, H. Mohammadi Fard and F. Wolf, "ElastiSim: a batch-system
    simulator for malleable workloads", ICPP 2022.
    """
    samples = _samples(results, lambda each: metrics.turnaround(jobs_of(each)))
    # Only a scale from 0 has room for jobs of no duration.
    instant = any((each.values <= 0).any() for each in samples)
    scale: Scale = "linear" if not log else "log1p" if instant else "log"
    quantity = Quantity("turnaround", scale, durations=True)
    return _drawn(samples, quantity, kind, ax, title, outliers=outliers)


@plot
def slowdown(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    threshold: float | None = metrics.USUAL_THRESHOLD,
    log: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of slowdowns of jobs that ran, one per policy (Fig. 10 of [1]).

    Parameters
    ----------
    results, ax, kind, title
        As for `wait`.
    threshold
        The threshold of the bounded slowdown, in seconds; None for the plain one.
    log
        True for a logarithmic axis.

    Raises
    ------
    ResultError
        If an argument is invalid.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    if threshold is None:
        name, samples = "slowdown", _samples(results, lambda each: metrics.slowdown(jobs_of(each)))
    else:
        name = "bounded slowdown"
        samples = _samples(results, lambda each: metrics.bounded_slowdown(jobs_of(each), threshold))
    return _drawn(samples, Quantity(name, "log" if log else "linear"), kind, ax, title)


@plot
def allocation_efficiency(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    resource: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the allocation efficiency of jobs, one per policy.

    Parameters
    ----------
    results, ax, kind, title
        As for `wait`.
    resource
        The only resource that counts [default: all].

    Raises
    ------
    ResultError
        If an argument is invalid.
    """
    samples = _samples(results, lambda each: metrics.allocation_efficiency(each, resource))
    return _drawn(samples, Quantity("allocation efficiency", "linear"), kind, ax, title)


def _samples(results: Results, measure: Callable[[Result], pl.Series]) -> list[Sample]:
    """Return the values of a measure of each group's jobs; those of replications are pooled."""
    return [
        Sample(
            group.label, np.concatenate([measure(each).drop_nulls().to_numpy() for each in group.schedules])
        )
        for group in groups(results)
    ]


def _drawn(
    samples: list[Sample],
    quantity: Quantity,
    kind: Kind,
    ax: Axes | None,
    title: str | None,
    *,
    outliers: bool = False,
    zoom: tuple[float, float] | None = None,
) -> Axes:
    ax = begin(ax, title=title, size=rows_size(len(samples)))
    return distribution(ax, samples, quantity, kind, outliers=outliers, zoom=zoom)


@plot
def scalability(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the duration of simulations by number of jobs, a line per policy.

    Results of one policy are one line, for any jobs; those of equal numbers of jobs are one point, their
    mean, with the 95 % confidence interval.

    Parameters
    ----------
    results
        Many results, or a mapping of labels to many.

    Raises
    ------
    ResultError
        If there is no result, or none knows how long its simulation took: results that were read from a
        folder do not.
    """
    found = by_policy(results)
    known = [each.elapsed for group in found for each in group.results if each.elapsed is not None]
    if not known:
        raise ResultError(
            "results: none knows how long its simulation took; results read from a folder do not. Use "
            "results of bl.simulate or of an Experiment."
        )
    ax = begin(ax, title=title)
    for index, group in enumerate(found):
        _draw(ax, group, index)
    if not ax.lines:
        return annotate(ax, "no run had jobs and took time")
    ax.set_xlabel("jobs")
    ax.set_ylabel("time of the simulation")
    log_axis(ax, "x")
    log_axis(ax, "y", durations=True)
    legend(ax, len(found))
    return dress(ax, grid="both")


def _draw(ax: Axes, group: Group, index: int) -> None:
    times: dict[int, list[float]] = {}
    for result in group.results:
        # Zero jobs, or zero time, cannot be shown on these axes.
        if result.elapsed and len(result.workload):
            times.setdefault(len(result.workload), []).append(result.elapsed)
    points = [(jobs, estimate(measured)) for jobs, measured in sorted(times.items())]
    known = [(jobs, value) for jobs, value in points if value is not None]
    if known:
        ax.errorbar(
            [jobs for jobs, _ in known],
            [value.mean for _, value in known],
            # An interval is cut at a tenth of the mean, below which it would leave the axes.
            yerr=[
                [min(value.half_width or 0.0, 0.9 * value.mean) for _, value in known],
                [value.half_width or 0.0 for _, value in known],
            ],
            marker="o",
            markersize=4,
            capsize=2,
            color=colour(index),
            linestyle=line_style(index),
            linewidth=1.2,
            label=group.label,
        )
