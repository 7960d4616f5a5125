"""How long jobs wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin, rows_size
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.results import Group, Results, groups, jobs_of
from batchlab.result import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["samples_of", "wait"]


def wait(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = True,
    outliers: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the time from submission to start, one per policy.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose jobs are pooled.
    ax
        The axes to draw on; new ones unless given.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    log
        Whether the axis is logarithmic above a second; it begins at 0 all the same.
    outliers
        Whether boxes have dots for jobs beyond the whiskers.
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
    """
    samples = samples_of(groups(results), lambda result: metrics.wait(jobs_of(result)))
    quantity = Quantity("wait", "log1p" if log else "linear", durations=True)
    ax = begin(ax, title=title, size=rows_size(len(samples)))
    return distribution(ax, samples, quantity, kind, outliers=outliers)


def samples_of(found: Iterable[Group], measure: Callable[[Result], pl.Series]) -> list[Sample]:
    """Give each group the values of a measure of its jobs, those of replications pooled."""
    return [
        Sample(
            group.label,
            np.concatenate([measure(result).drop_nulls().to_numpy() for result in group.schedules]),
        )
        for group in found
    ]
