"""Charts of quantities over time that readers can zoom: a row per policy, means over the visible range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from batchlab.plot.canvas import colour
from batchlab.plot.over_time import Line, means
from batchlab.plot.results import clock_of_groups
from batchlab.report.interactive import Chart, deflated, time_axis_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.plot.results import Group
    from batchlab.plot.values import Values

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["courses"]

_WINDOWS = 4096
_LEVELS = 65_535
_GAP = 0.12  # of a row


def courses(groups: Sequence[Group], lines: Sequence[Line], values: Values) -> Chart | None:
    """Describe the same quantity for several policies, one below the other on one scale.

    Parameters
    ----------
    groups
        The groups of the lines.
    lines
        The lines, as for `batchlab.plot.over_time.over_time`.
    values
        The quantity and its scale.

    Returns
    -------
    Chart or None
        None if all times are equal or there are no steps.
    """
    every = [steps.time for line in lines for steps in line.replications if len(steps.time) > 1]
    if not every:
        return None
    first, last = min(float(times[0]) for times in every), max(float(times[-1]) for times in every)
    if last <= first:
        return None
    edges = np.linspace(first, last, _WINDOWS + 1)
    found = [np.mean([means(steps, edges) for steps in line.replications], axis=0) for line in lines]
    greatest = max(float(each.max()) for each in found)
    axis = time_axis_of(clock_of_groups(groups), last - first)
    end, ticks = values.reach(greatest)
    layout: dict[str, object] = {"xaxis": axis.layout(first, last)}
    texts = [values.write(tick) for tick in ticks]
    for place in range(len(lines)):
        top = 1 - place / len(lines)
        layout["yaxis" if place == 0 else f"yaxis{place + 1}"] = {
            "domain": [top - (1 - _GAP) / len(lines), top],
            "range": [0, 1.05],
            "fixedrange": True,
            "tickvals": [float(values.place(np.array(tick), end)) for tick in ticks],
            "ticktext": texts,
            **({"title": {"text": values.label}} if place == (len(lines) - 1) // 2 else {}),
        }
    data: dict[str, object] = {
        "first": float(axis.at(np.array(first))),
        "width": (last - first) / _WINDOWS * axis.scale,
        "columns": _WINDOWS,
        "scale": values.scale,
        "end": end,
        "percent": values.write(1.0).endswith("%"),
        "series": [_series(line, each, greatest) for line, each in zip(lines, found, strict=True)],
    }
    return Chart(
        "courses", data, layout, "The first policy is grey in the other rows." if len(lines) > 1 else ""
    )


def _series(line: Line, values: Floats, greatest: float) -> dict[str, Any]:
    """Pack the values of a line as 16-bit integers, scaled so that the largest value is 65,535."""
    top = greatest or 1.0
    numbers = np.rint(values / top * _LEVELS).clip(0, _LEVELS).astype("<u2")
    return {"name": line.label, "colour": colour(line.number), "top": top, "packed": deflated(numbers)}
