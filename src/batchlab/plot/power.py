"""Plot of the power of the machine over time, or of its energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.ticker import EngFormatter

from batchlab.errors import ResultError
from batchlab.plot.canvas import begin, choice
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Results, clock_of_groups, groups
from batchlab.plot.values import Values
from batchlab.result.node_prices import power_of_nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.result.node_prices import Prices
    from batchlab.result.result import Result

__all__ = ["power"]

_OBSERVATION = "power"
_COLUMNS = ("time", "power")


def power(
    results: Results,
    *,
    prices: Prices | None = None,
    ax: Axes | None = None,
    kind: Literal["power", "energy"] = "power",
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the power of the whole machine over time, or the energy used since the beginning.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    prices
        The power of nodes, as for `batchlab.service.energy`: the area under the curve is the energy that it
        returns. If not given, the power that an observer recorded is drawn: ``Result.observations["power"]``
        with the columns ``time`` (s) and ``power`` (W), the power from each time on.
    ax
        The axes [default: new axes].
    kind
        ``"power"`` (W), or ``"energy"`` (J), its integral.
    window
        For the power: seconds over which means are taken; 0 for none [default: chosen by the number of
        steps].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If there are neither prices nor observations of power, a price is missing, or an argument is invalid.
    """
    choice("kind", kind, ("power", "energy"))
    found = groups(results)
    clock = clock_of_groups(found)
    lines = [
        Line(group.label, tuple(_course(each, prices) for each in group.results), index)
        for index, group in enumerate(found)
    ]
    if kind == "energy":
        lines = [Line(each.label, tuple(map(_added_up, each.replications)), each.number) for each in lines]
        # Energy only grows: there is nothing to smooth.
        values = Values("energy used", write=EngFormatter(unit="J"))
        return over_time(begin(ax, title=title), lines, values, window=0, joined=True, clock=clock)
    values = Values("power", write=EngFormatter(unit="W"))
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, values, window=window, clock=clock, lanes="compared")


def _course(result: Result, prices: Prices | None) -> Steps:
    if prices is not None:
        drawn = power_of_nodes(result.as_served, prices)
        return Steps(drawn.time, drawn.value)
    table = result.observations.get(_OBSERVATION)
    if table is None or not set(_COLUMNS) <= set(table.columns):
        raise ResultError(
            f"{result!r} has no observations of power; run it with --power, or pass simulate() an observer "
            "that is called 'power' and gives a table with the columns time (s) and power (W), or prices."
        )
    time, power = (table[name].to_numpy().astype(np.float64) for name in _COLUMNS)
    return Steps(time, power)


def _added_up(steps: Steps) -> Steps:
    if not len(steps.time):
        return steps
    return Steps(steps.time, np.concatenate([[0.0], np.cumsum(steps.value[:-1] * np.diff(steps.time))]))
