"""Values over time: lines, lanes one below the other, and stacked areas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from batchlab.core.rules import is_finite
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import GRID, INK, annotate, colour, dress, legend, line_style, tint
from batchlab.plot.scales import nice_step, plain, short_duration, time_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes

    from batchlab.plot.scales import Values
    from batchlab.workload.calendar_time import CalendarTime

    Floats: TypeAlias = npt.NDArray[np.float64]
    Colour: TypeAlias = str | tuple[float, float, float]

__all__ = [
    "Course",
    "Line",
    "Scale",
    "Steps",
    "draw_lane",
    "drawable_steps",
    "label_lanes",
    "lanes_size",
    "means",
    "over_time",
    "size_of",
    "stacked",
    "window_means",
    "window_of",
    "windows",
]


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
    scale = Scale(values, *values.reach(greatest))
    for place, course in enumerate(courses):
        name = f"{course.label} (grey in the other rows)" if compared and not place else course.label
        grey = courses[0] if place and compared else None
        draw_lane(
            ax,
            Course(name, course.time, course.value, course.number),
            scale,
            place,
            of=len(courses),
            joined=joined,
            grey=grey,
        )
    label_lanes(ax, [scale] * len(courses))
    ax.set_ylabel(values.label)


@dataclass(frozen=True)
class Scale:
    """The scale of a lane: its values, its end, and its ticks."""

    values: Values
    end: float
    ticks: list[float]

    def height(self, value: Floats | float) -> Floats:
        """Return the heights of values in a lane."""
        return np.asarray(_HEIGHT * self.values.place(np.asarray(value, np.float64), self.end))


def draw_lane(
    ax: Axes, course: Course, scale: Scale, place: int, *, of: int, joined: bool, grey: Course | None = None
) -> None:
    """Draw a course in the lane with this place from the top, over another one in grey."""
    base, hue = of - 1 - place, colour(course.number)
    style: Literal["default", "steps-post"] = "default" if joined else "steps-post"
    step: Literal["post"] | None = None if joined else "post"
    heights = base + scale.height(course.value)
    ax.fill_between(course.time, heights, base, step=step, color=tint(hue, 0.25), linewidth=0)
    if grey is not None:
        # Below the course, so that it is visible where the two differ.
        below = base + scale.height(grey.value)
        ax.plot(grey.time, below, drawstyle=style, color=_FIRST, linewidth=0.8, label="_first")
    ax.plot(course.time, heights, drawstyle=style, color=hue, linewidth=1.1, label=course.label)
    _name(ax, course.label, base, of)
    mark, ticks = scale.values.mark, scale.ticks
    for tick in (*ticks, *([mark] if mark else [])):
        is_line = tick == mark or tick == ticks[0]
        hue_of_line, order = (INK, 1.5) if is_line else (GRID, 0.5)
        across = ax.get_yaxis_transform()
        height = base + float(scale.height(tick))
        ax.hlines(height, 0, 1, transform=across, colors=hue_of_line, linewidths=0.6, zorder=order)


def label_lanes(ax: Axes, scales: Sequence[Scale]) -> None:
    """Write the ticks of lanes, from the top."""
    upwards = [*reversed(scales)]
    places = [base + float(each.height(tick)) for base, each in enumerate(upwards) for tick in each.ticks]
    ax.set_yticks(places, [each.values.write(tick) for each in upwards for tick in each.ticks])
    ax.set_ylim(0, len(scales))


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


_MOST_STEPS = 600
_WINDOWS = 150
_MOST_TOGETHER = 2


@dataclass(frozen=True)
class Steps:
    """A step function: each value holds from its time (s, rising) until the next."""

    time: Floats
    value: Floats


@dataclass(frozen=True)
class Line:
    """One course, as the mean of replications; lines of one number have one colour."""

    label: str
    replications: tuple[Steps, ...]
    number: int
    style: str | None = None


def means(steps: Steps, edges: Floats) -> Floats:
    """Compute the means of a step function over windows; it is 0 before its first time and after its last.

    Parameters
    ----------
    steps
        The function.
    edges
        float64, shape (windows + 1,), rising: the edges of the windows, in seconds.

    Returns
    -------
    numpy.ndarray
        float64, shape (windows,).
    """
    if len(steps.time) == 0:
        return np.zeros(len(edges) - 1)
    area = np.concatenate([[0.0], np.cumsum(steps.value[:-1] * np.diff(steps.time))])
    widths: Floats = np.diff(edges)
    return np.asarray(np.diff(np.interp(edges, steps.time, area)) / widths)


def over_time(
    ax: Axes,
    lines: Sequence[Line],
    values: Values,
    *,
    window: float | None = None,
    joined: bool = False,
    clock: CalendarTime | None = None,
    lanes: Literal["compared", "apart"] | None = None,
) -> Axes:
    """Draw courses over simulated time.

    Parameters
    ----------
    ax
        The axes.
    lines
        The courses.
    values
        The axis of the values.
    window
        Seconds over which means are taken; 0 draws every step, None chooses by the number of steps.
    joined
        True to join values by straight lines instead of steps.
    clock
        The calendar, if ticks are to be dates.
    lanes
        Draws more than two courses in rows, with the first in grey in the rows of the others
        (``"compared"``) or without (``"apart"``).

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the window is not a duration.
    """
    if window is not None and not (is_finite(window) and window >= 0):
        rule = "must be a duration >= 0. Leave it out to have one chosen"
        raise ResultError(f"window = {shown(window)} s; {rule}.")
    every = [steps for line in lines for steps in line.replications if len(steps.time)]
    if not every:
        return annotate(ax, "nothing happened")
    width = window_of(every, window)
    drawable = [drawable_steps(line, width) for line in lines]
    in_rows = lanes is not None and _are_many(len(lines))
    if in_rows:
        courses = [
            Course(line.label, steps.time, steps.value, line.number)
            for line, steps in zip(lines, drawable, strict=True)
        ]
        draw_lanes(ax, courses, values, joined=joined, compared=lanes == "compared")
    else:
        for line, steps in zip(lines, drawable, strict=True):
            _draw(ax, line, steps, fill=len(lines) == 1, joined=joined)
        values.apply(ax)
    ax.margins(x=0.01)
    label = time_axis(ax, clock)
    ax.set_xlabel(label + (f" (means over {short_duration(width)})" if width else ""))
    if in_rows:
        return dress(ax, grid=None)
    legend(ax, len(lines))
    return dress(ax, grid="y")


def size_of(count: int) -> tuple[float, float]:
    """Return the size of a figure for a number of courses, in inches."""
    return lanes_size(count) if _are_many(count) else (6.4, 3.6)


def _are_many(count: int) -> bool:
    return count > _MOST_TOGETHER


def window_of(every: Sequence[Steps], window: float | None) -> float:
    """Return the length of the windows, in seconds; 0 to draw every step."""
    if window is not None:
        return window
    if max(len(steps.time) for steps in every) <= _MOST_STEPS:
        return 0.0
    return nice_step(max(float(np.ptp(steps.time)) for steps in every), _WINDOWS)


def drawable_steps(line: Line, width: float) -> Steps:
    """Return the mean of replications, over windows of this length unless it is 0."""
    present = [steps for steps in line.replications if len(steps.time)]
    if not present:
        return Steps(np.zeros(0), np.zeros(0))
    if not width and len(present) == 1:
        return present[0]
    if not width:
        # The mean of step functions is a step function, with the steps of all.
        times = np.unique(np.concatenate([steps.time for steps in present]))
        return Steps(times, np.mean([_at(steps, times) for steps in present], axis=0))
    first, last = min(steps.time[0] for steps in present), max(steps.time[-1] for steps in present)
    edges = _edges(first, last, width)
    average = np.mean([means(steps, edges) for steps in present], axis=0)
    return Steps(edges, np.append(average, average[-1]))


def _edges(first: float, last: float, width: float) -> Floats:
    """Return the edges of windows: round times, except for the first and the last edge."""
    begin = np.floor(first / width) * width
    edges: Floats = begin + width * np.arange(max(1, int(np.ceil((last - begin) / width))) + 1)
    edges[0] = first
    edges[-1] = last if last > edges[-2] else edges[-2] + width
    # Windows of less than a tenth of the length would show extreme means by chance.
    inner = edges[1:-1]
    long = (inner - first >= width / 10) & (last - inner >= width / 10)
    return np.concatenate([edges[:1], inner[long], edges[-1:]])


def _at(steps: Steps, times: Floats) -> Floats:
    places = np.searchsorted(steps.time, times, side="right") - 1
    return np.where(places >= 0, steps.value[places], 0.0)


def _draw(ax: Axes, line: Line, steps: Steps, *, fill: bool, joined: bool) -> None:
    hue = colour(line.number)
    style = line.style or line_style(line.number)
    drawn: Literal["default", "steps-post"] = "default" if joined else "steps-post"
    ax.plot(steps.time, steps.value, drawstyle=drawn, color=hue, ls=style, linewidth=1.2, label=line.label)
    if fill:
        step: Literal["post"] | None = None if joined else "post"
        ax.fill_between(steps.time, steps.value, step=step, color=tint(hue, 0.25), linewidth=0)


_MOST_WINDOWS = 120


def stacked(
    ax: Axes,
    courses: Mapping[str, Floats],
    edges: Floats,
    label: str,
    *,
    colours: Mapping[str, Colour] | None = None,
    clock: CalendarTime | None = None,
) -> Axes:
    """Draw the means over windows of each kind, stacked in their order from the bottom.

    Parameters
    ----------
    ax
        The axes.
    courses
        By kind: float64, shape (windows,).
    edges
        float64, shape (windows + 1,): the edges of the windows, in seconds.
    label
        The label of the numbers.
    colours
        The colours by kind [default: in the order of the palette].
    clock
        The calendar, if ticks are to be dates.
    """
    below = np.zeros(len(edges) - 1)
    for index, (name, course) in enumerate(courses.items()):
        above = below + course
        chosen = colours[name] if colours else colour(index)
        ax.stairs(above, edges, baseline=below, fill=True, color=chosen, label=name)
        below = above
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    ax.set_ylabel(label)
    ax.set_xlim(edges[0], edges[-1])
    shown = time_axis(ax, clock)
    ax.set_xlabel(f"{shown} (means over {short_duration(float(np.median(np.diff(edges))))})")
    dress(ax, grid="y")
    # In the order in which they are stacked.
    legend(ax, len(courses), reverse=True)
    return ax


def windows(first: float, last: float) -> Floats:
    """Divide a time span into at most 120 windows of a round length; the last may be shorter."""
    if last <= first:
        return np.array([first, first + 1.0])
    width = nice_step(last - first, _MOST_WINDOWS)
    edges: Floats = np.arange(first, last, width)
    return (
        np.append(edges, last)
        if last - edges[-1] > width / 10 or len(edges) == 1
        else np.append(edges[:-1], last)
    )


def window_means(part: pl.DataFrame, edges: Floats, amount: str | None = None) -> Floats:
    """Compute the mean number of intervals (``start_time``, ``end_time``) that hold, over each window.

    If `amount`, the name of a column, is given, compute the mean of the sum of their amounts.
    """
    weights = np.ones(part.height) if amount is None else part[amount].to_numpy().astype(np.float64)
    begun, over = (_integral(part[name].to_numpy(), weights, edges) for name in ("start_time", "end_time"))
    found: Floats = np.diff(begun - over) / np.diff(edges)
    return np.maximum(found, 0.0)


def _integral(steps: Floats, weights: Floats, at: Floats) -> Floats:
    """Integrate the sum of the steps so far, up to each time."""
    order = np.argsort(steps, kind="stable")
    since, weights = (steps - at[0])[order], weights[order]
    heights = np.concatenate([[0.0], np.cumsum(weights)])
    areas = np.concatenate([[0.0], np.cumsum(weights * since)])
    count = np.searchsorted(since, at - at[0], side="right")
    integral: Floats = heights[count] * (at - at[0]) - areas[count]
    return integral
