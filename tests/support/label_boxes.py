"""The boxes of the texts of pictures: what overlaps, and in which sizes they are."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of the size of the user: ticks and legends, labels and titles, names of lanes and jobs.
LEAST, MOST = 5.5, 10.0


def faults(figure: Figure) -> list[str]:
    """List tick labels that overlap, legends on curves or tick labels, and texts of odd sizes or outside.

    Parameters
    ----------
    figure
        The figure, which is drawn.
    """
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    return [*_overlaps(figure), *_legends(figure), *_sizes(figure)]


def _labels(axis: Axis) -> list[tuple[str, Bbox]]:
    """Return the texts of tick labels that are visible, and their boxes, along the axis."""
    low, high = sorted(axis.get_view_interval())
    at = [
        (tick.get_loc(), tick.label1)
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_visible() and tick.label1.get_text()
    ]
    return [(text.get_text(), text.get_window_extent()) for _, text in sorted(at, key=lambda each: each[0])]


def _overlaps(figure: Figure) -> "Iterator[str]":
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            for (one, box), (other, next_box) in pairwise(_labels(axis)):
                if _shared(box, next_box) > 1:
                    yield f"the tick labels {one!r} and {other!r} overlap"


def _shared(one: Bbox, other: Bbox) -> float:
    """Return the lesser side of the overlap of two boxes, in pixels."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return float(min(wide, high))


def _legends(figure: Figure) -> "Iterator[str]":
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None:
            continue
        box = legend.get_window_extent()
        for axis in (ax.xaxis, ax.yaxis):
            for text, label in _labels(axis):
                if _shared(box, label) > 1:
                    yield f"the legend lies on the tick label {text!r}"
        for line in ax.get_lines():
            points = line.get_transform().transform(np.asarray(line.get_xydata(), np.float64))
            if box.count_contains(points):
                yield f"the legend lies on the curve {line.get_label()!r}"
        if _shared(box, ax.get_window_extent()) > 3:  # pixels
            yield "the legend lies inside the axes"


def _sizes(figure: Figure) -> "Iterator[str]":
    whole = figure.get_window_extent()
    for text in figure.findobj(Text):
        if not isinstance(text, Text) or not text.get_text() or not text.get_visible():
            continue
        size = float(text.get_fontsize())
        if not LEAST <= size <= MOST:
            yield f"{text.get_text()!r} has {size:g} points"
        if text.get_in_layout() and not text.get_clip_on():
            box = text.get_window_extent()
            if box.x0 < whole.x0 - 2 or box.x1 > whole.x1 + 2:
                yield f"{text.get_text()!r} is cut"
