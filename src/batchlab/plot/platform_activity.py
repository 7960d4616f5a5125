"""Plot of the activity of CPUs, GPUs, network and storage over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from batchlab.errors import ResultError
from batchlab.plot.canvas import begin, choice, plot
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.results import Group, Results, clock_of_groups, groups
from batchlab.plot.values import Values, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["platform_activity"]

Part: TypeAlias = Literal["cpu", "gpu", "network", "read", "write"]

_PARTS = {"cpu": "CPUs", "gpu": "GPUs", "network": "network", "read": "reading", "write": "writing"}
_STYLES = ("-", "--", "-.", ":", ":")


@plot
def platform_activity(
    results: Results,
    *,
    ax: Axes | None = None,
    of: Part | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the share of the platform that is in use over time, from `Result.utilisation`.

    CPUs, GPUs and the network are means over all of them; storage is the most used link of it. Jobs may hold
    resources that are not in use: for that see `utilisation`.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn; all of
        ``simulate(…, sensing=Sensing(interval))``.
    of
        ``"cpu"``, ``"gpu"``, ``"network"``, ``"read"`` or ``"write"`` (of the storage) [default: all that
        were ever in use: of one result each in its colour, of several each in its line style].

    Raises
    ------
    ResultError
        If the platform was not sensed in one of the runs, the part is unknown, or the window is not a
        duration.
    """
    found = groups(results)
    parts = [*_PARTS] if of is None else [choice("of", of, _PARTS)]
    courses = {
        part: [[_course(result, part) for result in group.schedules] for group in found] for part in parts
    }
    used = [part for part in parts if any(each.value.any() for group in courses[part] for each in group)]
    shown = used or parts[:1]
    lines = _lines(found, {part: courses[part] for part in shown})
    label = f"{_PARTS[shown[0]]} at work" if len(shown) == 1 else "at work"
    values = Values(label, write=percent, top=1.0)
    lanes: Literal["compared", "apart"] = "compared" if len(shown) == 1 else "apart"
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes=lanes)


def _lines(found: Sequence[Group], courses: dict[str, list[list[Steps]]]) -> list[Line]:
    lines = []
    for index, (part, by_group) in enumerate(courses.items()):
        for place, (group, each) in enumerate(zip(found, by_group, strict=True)):
            if len(found) == 1:
                lines.append(Line(_PARTS[part], tuple(each), index))
            elif len(courses) == 1:
                lines.append(Line(group.label, tuple(each), place))
            else:
                lines.append(Line(f"{group.label}, {_PARTS[part]}", tuple(each), place, _STYLES[index]))
    return lines


def _course(result: Result, part: str) -> Steps:
    if "sensed" not in result.outcome.tables:
        raise ResultError(
            f"results: the platform was not sensed under {result.policy}; pass sensing=Sensing(interval) "
            "to simulate()."
        )
    if part in {"read", "write"}:
        table = result.utilisation["storage"].select("time", part)
    else:
        table = result.utilisation[part]
    names = [name for name in table.columns[1:] if part != "gpu" or _gpus(result)[name]]
    seen = table.select(names).to_numpy().mean(axis=1) if names else np.zeros(table.height)
    # A sample is about the time before it.
    return Steps(table["time"].to_numpy(), np.append(seen[1:], seen[-1:]))


def _gpus(result: Result) -> dict[str, int]:
    platform = result.system.platform
    return {} if platform is None else {host.name: host.gpus for host in platform.hosts}
