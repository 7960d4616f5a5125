"""How the slowdowns of jobs are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.plot.canvas import begin, rows_size
from batchlab.plot.distribution import Kind, Quantity, distribution
from batchlab.plot.results import Results, groups, jobs_of
from batchlab.plot.wait import samples_of
from batchlab.result import metrics

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["slowdown"]


def slowdown(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    threshold: float | None = metrics.USUAL_THRESHOLD,
    log: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the slowdown over the jobs that ran, one per policy (Fig. 10 of [1]).

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose jobs are pooled.
    ax
        The axes to draw on; new ones unless given.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    threshold
        Of the bounded slowdown, seconds; None for the plain one.
    log
        Whether the axis is logarithmic.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If an argument is not one of its values.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    samples = samples_of(groups(results), lambda result: _values(jobs_of(result), threshold))
    name = "slowdown" if threshold is None else "bounded slowdown"
    quantity = Quantity(name, "log" if log else "linear")
    return distribution(begin(ax, title=title, size=rows_size(len(samples))), samples, quantity, kind)


def _values(jobs: pl.DataFrame, threshold: float | None) -> pl.Series:
    return metrics.slowdown(jobs) if threshold is None else metrics.bounded_slowdown(jobs, threshold)
