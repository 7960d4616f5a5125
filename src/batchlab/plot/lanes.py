"""Courses of several groups in rows on one scale, if they would hide one another in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from batchlab.plot.canvas import GRID, INK, colour, tint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.values import Values

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Course", "draw_lanes", "lanes_size"]

_HEIGHT = 0.76  # of a lane; the rest is for its name
_FIRST = "#8c959f"
_LEAST_TEXT, _MOST_TEXT = 4.0, 8.5


@dataclass(frozen=True)
class Course:
    """The contents of a lane: a name, the times, the values at them, and the number of its colour."""

    label: str
    time: Floats
    value: Floats
    number: int


def lanes_size(count: int) -> tuple[float, float]:
    """Return the size of a figure for a number of lanes, in inches."""
    return 6.4, max(3.6, 0.8 + 0.72 * count)


def draw_lanes(ax: Axes, courses: Sequence[Course], values: Values, *, joined: bool, compared: bool) -> None:
    """Draw each course in its own lane, on one scale.

    Parameters
    ----------
    ax
        The axes. The lane of course n of N begins at N − 1 − n, for any values.
    courses
        The courses, from the top.
    values
        The scale of the values.
    joined
        True to join values by straight lines instead of steps.
    compared
        True to draw the first course in the lanes of the others too, in grey.
    """
    greatest = max((float(each.value.max()) for each in courses if len(each.value)), default=1.0)
    end, ticks = values.reach(greatest)
    style: Literal["default", "steps-post"] = "default" if joined else "steps-post"
    step: Literal["post"] | None = None if joined else "post"
    first = courses[0]
    for place, course in enumerate(courses):
        base, hue = len(courses) - 1 - place, colour(course.number)
        heights = base + _HEIGHT * values.place(course.value, end)
        ax.fill_between(course.time, heights, base, step=step, color=tint(hue, 0.25), linewidth=0)
        if place and compared:
            # Below the course, so that it is visible where the two differ.
            below = base + _HEIGHT * values.place(first.value, end)
            ax.plot(first.time, below, drawstyle=style, color=_FIRST, linewidth=0.8, label="_first")
        ax.plot(course.time, heights, drawstyle=style, color=hue, linewidth=1.1, label=course.label)
        _name(
            ax,
            f"{course.label} (grey in the other rows)" if compared and not place else course.label,
            base,
            len(courses),
        )
        for tick in (*ticks, *([values.mark] if values.mark else [])):
            height = base + _HEIGHT * float(values.place(np.array(tick), end))
            is_line = tick == values.mark or tick == ticks[0]
            across = ax.get_yaxis_transform()
            hue_of_line, order = (INK, 1.5) if is_line else (GRID, 0.5)
            ax.hlines(height, 0, 1, transform=across, colors=hue_of_line, linewidths=0.6, zorder=order)
    places = [
        base + _HEIGHT * float(values.place(np.array(tick), end))
        for base in range(len(courses))
        for tick in ticks
    ]
    ax.set_yticks(places, [values.write(tick) for tick in ticks] * len(courses))
    ax.set_ylim(0, len(courses))
    ax.set_ylabel(values.label)


def _name(ax: Axes, text: str, base: int, count: int) -> None:
    points = 72 * ax.bbox.height / ax.figure.dpi / count * (1 - _HEIGHT)
    ax.text(
        0.004,
        base + _HEIGHT + 0.02,
        text,
        transform=ax.get_yaxis_transform(),
        va="bottom",
        ha="left",
        color=INK,
        fontsize=min(max(0.85 * points, _LEAST_TEXT), _MOST_TEXT),
    )
