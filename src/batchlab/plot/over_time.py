"""Courses over simulated time: as they are where they are short, else as means over windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from batchlab.errors import ResultError
from batchlab.plot.canvas import colour, dress, legend, line_style, say, tint
from batchlab.plot.scales import duration_axis, log1p_axis, nice_step, short_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Line", "Steps", "means", "over_time"]

_MOST_STEPS = 600
_WINDOWS = 150


@dataclass(frozen=True)
class Steps:
    """A step function: from each time on (s, rising) its value, which holds until the next."""

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
    """Take the means of a step function over windows; before its first time, and after its last, it is 0.

    Parameters
    ----------
    steps
        The function.
    edges
        float64, shape (windows + 1,), rising: where windows meet, in seconds.

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
    label: str,
    *,
    window: float | None = None,
    log: bool = False,
    joined: bool = False,
) -> Axes:
    """Draw courses over simulated time.

    Parameters
    ----------
    ax
        The axes.
    lines
        The courses.
    label
        Of the values, with their unit.
    window
        Seconds over which means are taken; 0 draws every step, None decides by the number of steps.
    log
        Whether values are shown on a scale that is logarithmic above 1, and begins at 0.
    joined
        Whether values are joined by straight lines in place of steps.

    Returns
    -------
    matplotlib.axes.Axes
        The same.

    Raises
    ------
    ResultError
        If the window is no duration.
    """
    if window is not None and not 0 <= window < np.inf:
        raise ResultError(f"window = {window!r} s; must be a duration >= 0, or None to have one chosen.")
    every = [steps for line in lines for steps in line.replications if len(steps.time)]
    if not every:
        return say(ax, "nothing happened")
    width = _width(every, window)
    for line in lines:
        _draw(ax, line, _drawable(line, width), fill=len(lines) == 1, joined=joined)
    ax.set_xlabel("simulated time" + (f" (means over {short_duration(width)})" if width else ""))
    ax.set_ylabel(label)
    ax.margins(x=0.01)
    duration_axis(ax, "x")
    _values_axis(ax, log=log)
    legend(ax, len(lines))
    return dress(ax, grid="y")


def _width(every: Sequence[Steps], window: float | None) -> float:
    """Choose how long a window is; 0: every step is drawn."""
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
        # The mean of step functions is one too, with the steps of all.
        times = np.unique(np.concatenate([steps.time for steps in present]))
        return Steps(times, np.mean([_at(steps, times) for steps in present], axis=0))
    first = np.floor(min(steps.time[0] for steps in present) / width) * width
    last = max(steps.time[-1] for steps in present)
    edges = first + width * np.arange(max(1, int(np.ceil((last - first) / width))) + 1)
    average = np.mean([means(steps, edges) for steps in present], axis=0)
    return Steps(edges, np.append(average, average[-1]))


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


def _values_axis(ax: Axes, *, log: bool) -> None:
    high = ax.get_ylim()[1]
    if log:
        log1p_axis(ax, "y", high)
    ax.set_ylim(0, max(high, 1e-9))
