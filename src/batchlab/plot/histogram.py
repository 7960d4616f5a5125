"""Shares of jobs by class, for all plots of workloads: bars for one workload, lines for several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.ticker import FuncFormatter

from batchlab.plot.canvas import annotate, colour, dress, legend, line_style, tint
from batchlab.plot.scales import EvenLocator, log_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["classes", "logarithmic"]

_BINS_PER_DECADE = 8
_LONG = 9  # of a label that stands on one line


def classes(ax: Axes, counts: Mapping[str, Floats], names: Sequence[str]) -> Axes:
    """Draw the share of jobs in each of some named classes.

    Parameters
    ----------
    ax
        The axes.
    counts
        For each label the number of jobs, or of other things, in each class: float64, shape (classes,).
    names
        The classes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if not any(each.sum() for each in counts.values()):
        return annotate(ax, "no jobs")
    places = np.arange(len(names))
    labels = [name.replace("–", "–\n") if len(name) > _LONG else name for name in names]

    def name(place: float) -> str:
        return labels[round(place)] if 0 <= round(place) < len(labels) else ""

    for index, (label, count) in enumerate(counts.items()):
        share, hue = count / (count.sum() or 1), colour(index)
        if len(counts) == 1:
            ax.bar(places, share, width=0.8, color=tint(hue, 0.6), edgecolor=hue, linewidth=0.8, label=label)
        else:
            ax.plot(places, share, "o", ls=line_style(index), c=hue, markersize=3.5, lw=1.2, label=label)
    ax.xaxis.set_major_locator(EvenLocator(len(names), name))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: name(place)))
    ax.set_xlim(-0.6, len(names) - 0.4)
    return _shares(ax, len(counts))


def logarithmic(ax: Axes, samples: Mapping[str, Floats], *, least: float, durations: bool = False) -> Axes:
    """Draw the share of jobs in classes that grow with their values, eight to a power of ten.

    Parameters
    ----------
    ax
        The axes.
    samples
        The values of each label; those that are not finite are ignored.
    least
        Smaller values are replaced by this one; above 0.
    durations
        True if values are seconds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    finite = {label: np.maximum(each[np.isfinite(each)], least) for label, each in samples.items()}
    every = np.concatenate([*finite.values()])
    if not len(every):
        return annotate(ax, "no jobs")
    low = math.floor(math.log10(every.min()) * _BINS_PER_DECADE)
    high = math.floor(math.log10(every.max()) * _BINS_PER_DECADE) + 1
    edges = 10.0 ** (np.arange(low, high + 1) / _BINS_PER_DECADE)
    for index, (label, values) in enumerate(finite.items()):
        share = np.histogram(values.clip(edges[0], edges[-1]), edges)[0] / max(len(values), 1)
        hue = colour(index)
        if len(finite) == 1:
            ax.stairs(share, edges, fill=True, color=tint(hue, 0.6))
        ax.stairs(share, edges, color=hue, linewidth=1.2, linestyle=line_style(index), label=label)
    ax.set_xlim(edges[0], edges[-1])
    log_axis(ax, "x", durations=durations)
    return _shares(ax, len(finite))


def _shares(ax: Axes, count: int) -> Axes:
    ax.set_ylabel("share of jobs")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
    legend(ax, count)
    return dress(ax, grid="y")
