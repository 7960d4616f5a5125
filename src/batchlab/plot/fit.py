"""Plot of the search for the parameters of a twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import begin, colour, dress, legend, plot
from batchlab.plot.scales import log_axis
from batchlab.slurm.twin import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fit_search"]


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
