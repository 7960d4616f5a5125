"""Courses over simulated time: all steps of short ones, else means over windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from batchlab.core.units import is_real
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import annotate, colour, dress, legend, line_style, tint
from batchlab.plot.clock import time_axis
from batchlab.plot.lanes import Course, draw_lanes, lanes_size
from batchlab.plot.scales import nice_step, short_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.values import Values
    from batchlab.workload.calendar_time import CalendarTime

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Line", "Steps", "means", "over_time", "size_of"]

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
    if window is not None and not (is_real(window) and window >= 0):
        raise ResultError(f"window = {shown(window)} s; must be a duration >= 0, or None to have one chosen.")
    every = [steps for line in lines for steps in line.replications if len(steps.time)]
    if not every:
        return annotate(ax, "nothing happened")
    width = _width(every, window)
    drawable = [_drawable(line, width) for line in lines]
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


def _width(every: Sequence[Steps], window: float | None) -> float:
    """Choose the length of a window; 0 to draw every step."""
    if window is not None:
        return window
    if max(len(steps.time) for steps in every) <= _MOST_STEPS:
        return 0.0
    return nice_step(max(float(np.ptp(steps.time)) for steps in every), _WINDOWS)


def _drawable(line: Line, width: float) -> Steps:
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
