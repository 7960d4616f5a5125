"""How long jobs wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin, rows_size
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.results import Results, groups, jobs_of
from batchlab.result import metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["wait"]


def wait(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = True,
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
    samples = [
        Sample(
            group.label,
            np.concatenate(
                [metrics.wait(jobs_of(result)).drop_nulls().to_numpy() for result in group.schedules]
            ),
        )
        for group in groups(results)
    ]
    quantity = Quantity("wait", "log1p" if log else "linear", durations=True)
    return distribution(begin(ax, title=title, size=rows_size(len(samples))), samples, quantity, kind)
