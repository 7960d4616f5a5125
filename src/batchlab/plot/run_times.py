"""Plot of the run times of jobs, or of the times that they request."""

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
        The axes [default: new axes].
    of
        ``"run_time"`` or ``"requested_time"``; less than a second counts as one. Jobs without such a time are
        ignored.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If there is no workload, something else is among them, or the time is unknown.
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
    """Return the known times, without those of applications that have not run, and infinite limits."""
    return times.filter(times.is_finite().fill_null(value=False)).to_numpy()
