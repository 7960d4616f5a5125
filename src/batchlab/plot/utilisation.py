"""Plot of the utilisation of each resource over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from batchlab.plot.canvas import begin, choice
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Group, Results, clock_of_groups, groups, steps_of
from batchlab.plot.values import Values, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["resources_of", "utilisation", "utilisation_course"]

_STYLES = ("-", "--", ":", "-.")


def utilisation(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the share of each resource's capacity that jobs hold, over time.

    More than two courses have a row each; if they are of one resource, with the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    ax
        The axes [default: new axes].
    resource
        The resource [default: all that jobs hold].
    window
        Seconds over which means are taken; 0 for none [default: chosen by the number of steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If no system has the resource, or the window is not a duration.
    """
    found = groups(results)
    names = resources_of(found, resource)
    names = tuple(name for name in names if _is_held(found, name)) or names[:1]
    lines = _lines(found, names)
    label = f"{names[0]} in use" if len(names) == 1 else "resources in use"
    values = Values(label, write=percent, top=1.0)
    lanes: Literal["compared", "apart"] = "compared" if len(names) == 1 else "apart"
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes=lanes)


def resources_of(found: Sequence[Group], resource: str | None) -> tuple[str, ...]:
    """Return the names of the resources to show: the given one, or all."""
    known = tuple(dict.fromkeys(name for group in found for name in group.results[0].system.resources))
    return known if resource is None else (choice("resource", resource, known),)


def _is_held(found: Sequence[Group], resource: str) -> bool:
    results = (result for group in found for result in group.schedules)
    return any(
        bool(_held(result, resource).any()) for result in results if resource in result.system.resources
    )


def _held(result: Result, resource: str) -> npt.NDArray[np.int64]:
    return result.outcome.allocated[:, result.system.resources.index(resource)]


def _lines(found: Sequence[Group], names: Sequence[str]) -> list[Line]:
    lines = []
    for place, group in enumerate(found):
        for index, name in enumerate(names):
            courses = tuple(
                utilisation_course(result, name)
                for result in group.schedules
                if name in result.system.resources
            )
            if len(found) == 1:
                lines.append(Line(name, courses, index))
            elif len(names) == 1:
                lines.append(Line(group.label, courses, place))
            else:
                style = _STYLES[index % len(_STYLES)]
                lines.append(Line(f"{group.label}, {name}", courses, place, style))
    return lines


def utilisation_course(result: Result, resource: str) -> Steps:
    """Return the share of a resource's capacity that jobs hold, from each instant on."""
    table = steps_of(result, {resource: pl.col(f"allocated_{resource}")})
    used = table[f"used_{resource}"].to_numpy()
    return Steps(table["time"].to_numpy(), used / max(result.system.total[resource], 1))
