"""Plot of the remaining work, and of the rate at which it is done, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.plot.canvas import GRID, INK, begin, colour
from batchlab.plot.clock import clock_of
from batchlab.plot.over_time import Line, Steps, over_time
from batchlab.plot.results import single
from batchlab.plot.values import Values
from batchlab.result.course import rates_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.plot.results import Results
    from batchlab.result.course import Course
    from batchlab.result.result import Result

__all__ = ["rates"]

_MOST_TIMES = 600
_MOST_ROOM = 1.15  # of the highest rate


def rates(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the remaining work of the jobs present, and the rate of each control, over time.

    Parameters
    ----------
    results
        One result, for example of ``simulate(…, control="workload(1e5, 3e5)")``; of replications only the
        first is drawn. Without a control the rate is 1.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with the work; exactly if it changes at no more than 600 times, else as means. The rates
        have their own scale at the right: axes with the same time, in ``ax.figure.axes``.

    Raises
    ------
    ResultError
        If there are several groups.
    """
    ax = begin(ax, title=title, size=(7.2, 3.6))
    result = single(results)
    course = result.course
    if course.span == 0:
        return over_time(ax, [], Values("work left"))
    exact = len(course.time) <= _MOST_TIMES
    work = _exact(course) if exact else _middle(course)
    lines = [Line("work left", (work,), 0)]
    clock = clock_of([result])
    over_time(ax, lines, Values("work left"), window=0 if exact else None, joined=exact, clock=clock)
    _draw_rates(ax, result, float(course.time[0]), float(course.time[-1]))
    return ax


def _exact(course: Course) -> Steps:
    """Return the work at each time, and just before the next: it falls in a line, and jumps."""
    before_next = course.workload - course.fall * course.duration
    both = np.column_stack([course.workload, before_next]).ravel()
    times = np.column_stack([course.time, course.time + course.duration]).ravel()
    return Steps(times, np.maximum(both, 0.0))


def _middle(course: Course) -> Steps:
    """Return the mean of the work from each time to the next, which has the right means over windows."""
    return Steps(course.time, np.maximum(course.workload - course.fall * course.duration / 2, 0.0))


def _draw_rates(ax: Axes, result: Result, first: float, last: float) -> None:
    steps = rates_of(result.as_served)
    controls = result.options.controls
    names = ["|".join(control.groups) or "all nodes" for control in controls] or ["all nodes"]
    scale = ax.twinx()
    for number, (name, each) in enumerate(zip(names, steps, strict=False), start=1):
        inside = (each.time > first) & (each.time < last)
        before = each.value[max(int(np.searchsorted(each.time, first, "right")) - 1, 0)]
        values = np.concatenate([[before], each.value[inside]])
        times = np.concatenate([[first], each.time[inside], [last]])
        drawn = np.append(values, values[-1])
        scale.plot(times, drawn, drawstyle="steps-post", color=colour(number), linewidth=1.2, label=name)
    scale.set_ylabel("rate", color=INK)
    scale.set_ylim(0, _MOST_ROOM * max(float(line.get_ydata().max()) for line in scale.get_lines()))  # type: ignore[union-attr]  # arrays
    scale.spines[["top", "left", "bottom"]].set_visible(False)
    scale.spines["right"].set_color(GRID)
    scale.tick_params(colors=INK, labelsize="small", length=3)
    scale.legend(
        frameon=False,
        fontsize="small",
        labelcolor=INK,
        ncols=len(names),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
    )
