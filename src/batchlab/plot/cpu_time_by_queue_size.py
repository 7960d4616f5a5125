"""Plot of the CPU time of decisions by the number of waiting jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.plot.canvas import begin, colour, dress, legend, line_style, say, tint
from batchlab.plot.results import Group, Results, groups
from batchlab.plot.scales import log1p_axis, log_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["cpu_time_by_queue_size"]

_EXACT_TO = 10
_BINS_PER_DECADE = 12
_QUARTILES = (25, 75)
_MOST_BANDS = 2


def cpu_time_by_queue_size(
    results: Results, *, ax: Axes | None = None, band: bool | None = None, title: str | None = None
) -> Axes:
    """Draw the mean CPU time of a scheduling pass against the length of the queue (Fig. 13 of [1]).

    Up to 10 jobs, every length has a point; longer lengths are grouped, with 12 points to each power of ten,
    at the mean of their lengths. Replications are pooled.

    Parameters
    ----------
    results
        Results of ``simulate(…, dispatch=True)``: one, several, or a mapping of labels to results or to
        replications.
    ax
        The axes [default: new axes].
    band
        True to show the middle half of the passes, from the first to the third quartile [default: True up to
        two groups].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the passes were not recorded.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    found = groups(results)
    ax = begin(ax, title=title)
    band = len(found) <= _MOST_BANDS if band is None else band
    longest = -1
    for index, group in enumerate(found):
        length, spent = _passes(group)
        if len(length):
            longest = max(longest, int(length.max()))
            _draw(ax, index, group.label, _binned(length, spent, quartiles=band), band=band)
    if longest < 0:
        return say(ax, "no pass was made")
    ax.set_xlabel("jobs in the queue")
    ax.set_ylabel("CPU time of a scheduling pass")
    log1p_axis(ax, "x", longest)
    ax.set_xlim(-0.15, max(longest, 1) * 1.05)
    log_axis(ax, "y", durations=True)
    legend(ax, len(found))
    return dress(ax, grid="both")


def _passes(group: Group) -> tuple[Integers, Floats]:
    tables = [result.dispatch for result in group.results]
    length = np.concatenate([table["queue_length"].to_numpy().astype(np.int64) for table in tables])
    return length, np.concatenate([table["cpu_time"].to_numpy() for table in tables])


def _binned(length: Integers, spent: Floats, *, quartiles: bool) -> Floats:
    """Return float64, shape (bins, 4): mean length, mean time, and its quartiles if requested, else NaN."""
    # There are millions of passes, but only thousands of lengths: the bin of each length is computed once.
    lengths = np.arange(int(length.max()) + 1)
    beyond = np.ceil(_BINS_PER_DECADE * np.log10(np.maximum(lengths, _EXACT_TO) / _EXACT_TO))
    bins = np.where(lengths <= _EXACT_TO, lengths, _EXACT_TO + beyond).astype(np.int16)[length]
    counts = np.bincount(bins)
    there = np.flatnonzero(counts)
    means = [np.bincount(bins, values)[there] / counts[there] for values in (length, spent)]
    between = np.full((2, len(there)), np.nan)
    if quartiles:
        parts = np.split(spent[np.argsort(bins, kind="stable")], np.cumsum(counts[there])[:-1])
        between = np.transpose([np.percentile(part, _QUARTILES) for part in parts])
    return np.column_stack([*means, *between])


def _draw(ax: Axes, index: int, label: str, points: Floats, *, band: bool) -> None:
    hue = colour(index)
    ax.plot(
        points[:, 0],
        points[:, 1],
        "o",
        ls=line_style(index),
        color=hue,
        markersize=3,
        linewidth=1.2,
        label=label,
    )
    if band:
        ax.fill_between(points[:, 0], points[:, 2], points[:, 3], color=tint(hue, 0.15), linewidth=0)
