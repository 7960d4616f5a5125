"""Plot of the numbers of nodes that are on, asleep and in transition, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.plot.canvas import begin, colour, pale, say
from batchlab.plot.clock import clock_of
from batchlab.plot.results import single
from batchlab.plot.stacked import means, stacked, windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.plot.results import Results
    from batchlab.plot.stacked import Colour
    from batchlab.system import System

__all__ = ["power_states"]


def power_states(result: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the number of nodes in each power state, stacked, over time.

    Parameters
    ----------
    result
        The result of ``simulate(…, sleep="timeout(300)")``.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Means over at most 120 windows of a round length; nodes that are on are at the bottom, then
        the states in the system's order, with transitions in paler colours. States without nodes are omitted.

    Raises
    ------
    ResultError
        If no node was to sleep, or there are several groups of results.
    """
    found = single(result)
    ax = begin(ax, title=title)
    states = found.power_states
    if states.is_empty():
        return say(ax, "nothing happened")
    edges = windows(float(states["start_time"].min()), float(states["end_time"].max()))  # type: ignore[arg-type]  # they are numbers
    parts = {str(name): part for (name,), part in states.group_by("state")}
    every = dict.fromkeys(name for group in found.system.groups for name in group.power_states)
    names = [name for name in every if name in parts]
    courses = {name: means(parts[name], edges) for name in names}
    return stacked(ax, courses, edges, "nodes", colours=_colours(found.system), clock=clock_of([found]))


def _colours(system: System) -> dict[str, Colour]:
    """Return the colour of each state, whether or not it occurs; transitions have paler ones."""
    found: dict[str, Colour] = {"on": colour(0)}
    states = {state.name: state.labels for group in system.groups for state in group.sleep_states}
    for place, (entering, asleep, waking) in enumerate(states.values(), start=1):
        found |= {
            entering: pale(colour(place), 0.35),
            asleep: colour(place),
            waking: pale(colour(place), 0.65),
        }
    return found
