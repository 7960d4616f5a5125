"""Rectangles of jobs: colours that differ for touching jobs, seams, and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex

from batchlab.plot.canvas import INK, pale

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.placement import Integers, Rectangles

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["draw_rectangles", "job_colours", "job_hues", "name_rectangles", "touching_colours"]

_MOST_VECTORS = 1500
_MOST_COMPARED = 4000
_POINTS = 6.5
_LIGHT = 0.55
# P. Tol, "Colour schemes" (2021), muted: distinct with any kind of colour vision.
_HUES = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")


def job_colours(rows: Integers) -> Floats:
    """Return the colour of each job: float64, shape (jobs, 3); jobs of near rows differ."""
    hues = np.array([pale(hue, 0.85) for hue in _HUES])
    return hues[_hue_numbers(rows)]


def touching_colours(boxes: Rectangles) -> Floats:
    """Return colours of rectangles, float64, shape (rectangles, 3), so that touching jobs differ.

    Each job has the colour of `job_colours` unless a neighbour that began earlier already has it.
    """
    usual = _hue_numbers(boxes.row)
    if len(boxes.row) > _MOST_COMPARED:
        return job_colours(boxes.row)
    chosen: dict[int, int] = {}
    gap = 0.01 * float(np.ptp(np.append(boxes.end, boxes.start))) if len(boxes.row) else 0.0
    for at in np.argsort(boxes.start, kind="stable"):
        row = int(boxes.row[at])
        near = (boxes.start <= boxes.end[at] + gap) & (boxes.end >= boxes.start[at] - gap)
        near &= (boxes.low <= boxes.high[at]) & (boxes.high >= boxes.low[at])
        taken = {chosen[other] for other in map(int, boxes.row[near]) if other != row and other in chosen}
        if row not in chosen:
            free = ((int(usual[at]) + step) % len(_HUES) for step in range(len(_HUES)))
            chosen[row] = next((hue for hue in free if hue not in taken), int(usual[at]))
    hues = np.array([pale(hue, 0.85) for hue in _HUES])
    return hues[[chosen[int(row)] for row in boxes.row]]


def job_hues(rows: Integers) -> list[str]:
    """Return the colour of each job in the form ``#rrggbb``."""
    hues = [to_hex(pale(hue, 0.85)) for hue in _HUES]
    return [hues[number] for number in _hue_numbers(rows)]


def _hue_numbers(rows: Integers) -> Integers:
    # Steps of 4 among 9 hues: neighbours differ most.
    return rows * 4 % len(_HUES)


def draw_rectangles(ax: Axes, boxes: Rectangles, colours: Floats) -> None:
    """Draw jobs over time and nodes; few of them with lines in between."""
    corners = np.stack(
        [
            np.stack([boxes.start, boxes.end, boxes.end, boxes.start], axis=1),
            np.stack([boxes.low, boxes.low, boxes.high, boxes.high], axis=1),
        ],
        axis=2,
    )
    few = len(boxes.row) <= _MOST_VECTORS
    ax.add_collection(
        PolyCollection(
            list(corners),
            facecolors=colours,
            edgecolors="white" if few else "face",
            linewidths=0.3 if few else 0.1,
            rasterized=not few,
        )
    )
    if few:
        _cover_seams(ax, boxes, colours)


def _cover_seams(ax: Axes, boxes: Rectangles, colours: Floats) -> None:
    """Draw over the lines within jobs that were resized, so that they look like one piece."""
    ends: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for row, end, low, high in zip(boxes.row, boxes.end, boxes.low, boxes.high, strict=True):
        ends.setdefault((row, end), []).append((low, high))
    hues, seams = [], []
    for at, (row, start) in enumerate(zip(boxes.row, boxes.start, strict=True)):
        low, high = boxes.low[at], boxes.high[at]
        for below, above in ends.get((row, start), []):
            if max(low, below) < min(high, above):
                hues.append(colours[at])
                seams.append([(start, max(low, below)), (start, min(high, above))])
    ax.add_collection(LineCollection(seams, colors=hues, linewidths=2.4, capstyle="butt"))


def name_rectangles(ax: Axes, boxes: Rectangles, colours: Floats, ids: Sequence[int]) -> None:
    """Write the number of each job into its largest rectangle, if there is room.

    Parameters
    ----------
    ax
        Axes whose limits are set.
    boxes, colours
        The rectangles, and their colours.
    ids
        The text by row of the workload.
    """
    width, height = _points_per_unit(ax)
    area = (boxes.end - boxes.start) * (boxes.high - boxes.low)
    # Of several entries for one job a dictionary keeps the last, which is the largest here.
    largest = {int(boxes.row[at]): int(at) for at in np.argsort(area, kind="stable")}
    for row, at in largest.items():
        text = str(ids[row])
        wide = (boxes.end[at] - boxes.start[at]) * width >= 0.62 * _POINTS * len(text) + 3
        high = (boxes.high[at] - boxes.low[at]) * height >= 1.15 * _POINTS
        if wide and high:
            ax.text(
                (boxes.start[at] + boxes.end[at]) / 2,
                (boxes.low[at] + boxes.high[at]) / 2,
                text,
                ha="center",
                va="center_baseline",
                fontsize=_POINTS,
                color=INK if colours[at] @ (0.299, 0.587, 0.114) > _LIGHT else "white",
                clip_on=True,
            )


def _points_per_unit(ax: Axes) -> tuple[float, float]:
    """Return the number of points per unit of x and of y; labels and ticks may still reduce it."""
    dpi = ax.figure.dpi
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    return 72 * ax.bbox.width / dpi / (right - left), 72 * ax.bbox.height / dpi / (high - low)
