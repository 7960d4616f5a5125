"""Plot of the run times of jobs, compared with runs alone on their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import begin, rows_size
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.results import Results, groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["interference"]


def interference(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the slowdown of jobs by others, one per group (Fig. 6 of [1]).

    Each job that has an application is run again, alone on its nodes: see `Result.interference`.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels (``"1 job"``, ``"2 jobs"``, …) to results or to
        replications, whose jobs are pooled.
    ax
        The axes [default: new axes].
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    log
        True for a logarithmic axis.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If an argument is invalid, or a system has no platform.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    samples = [
        Sample(
            group.label,
            np.concatenate(
                [each.interference()["slowdown"].drop_nulls().to_numpy() for each in group.schedules]
            ),
        )
        for group in groups(results)
    ]
    quantity = Quantity(
        "run time, of that alone", "log" if log else "linear", nothing="no job has an application"
    )
    return distribution(begin(ax, title=title, size=rows_size(len(samples))), samples, quantity, kind)
