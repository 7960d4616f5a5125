"""How long jobs run, or ask to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from batchlab.plot.canvas import begin, choice
from batchlab.plot.histogram import logarithmic
from batchlab.plot.results import Workloads, job_tables

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["run_times"]

_LABELS = {"run_time": "run time", "requested_time": "requested time"}


def run_times(
    workloads: Workloads,
    *,
    ax: Axes | None = None,
    of: Literal["run_time", "requested_time"] = "run_time",
    title: str | None = None,
) -> Axes:
    """Draw the shares of jobs by run time, in classes that grow with it, eight to a power of ten.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.
    ax
        The axes to draw on; new ones unless given.
    of
        ``"run_time"`` or ``"requested_time"``; less than a second counts as one. Jobs without
        such a time are left out.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If there is no workload, something else among them, or no such time.
    """
    column = choice("of", of, _LABELS)
    samples = {
        each.label: np.concatenate([_known(table[column]) for table in each.tables])
        for each in job_tables(workloads)
    }
    ax = logarithmic(begin(ax, title=title), samples, least=1.0, durations=True)
    if ax.has_data():
        ax.set_xlabel(_LABELS[of])
    return ax


def _known(times: pl.Series) -> npt.NDArray[np.float64]:
    """Leave out what follows from applications that have not run, and limits that are none."""
    return times.filter(times.is_finite().fill_null(value=False)).to_numpy()
