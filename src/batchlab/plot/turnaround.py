"""How long jobs take from submission to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.plot.canvas import begin, rows_size
from batchlab.plot.distribution import Kind, Quantity, Scale, distribution
from batchlab.plot.results import Results, groups, jobs_of
from batchlab.plot.wait import samples_of
from batchlab.result import metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["turnaround"]


def turnaround(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = True,
    outliers: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the time from submission to end, one per policy (Fig. 5 of [1]).

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose jobs are pooled.
    ax
        The axes to draw on; new ones unless given.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    log
        Whether the axis is logarithmic.
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

    References
    ----------
    [1] T. Özden, T. Beringer, A. Mazaheri, H. Mohammadi Fard and F. Wolf, "ElastiSim: a batch-system
    simulator for malleable workloads", ICPP 2022.
    """
    samples = samples_of(groups(results), lambda result: metrics.turnaround(jobs_of(result)))
    # Only a scale from 0 has room for jobs of no time.
    instant = any((each.values <= 0).any() for each in samples)
    scale: Scale = "linear" if not log else "log1p" if instant else "log"
    quantity = Quantity("turnaround", scale, durations=True)
    ax = begin(ax, title=title, size=rows_size(len(samples)))
    return distribution(ax, samples, quantity, kind, outliers=outliers)
