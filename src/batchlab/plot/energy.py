"""Power, power states, rates and speed over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.ticker import EngFormatter

from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import GRID, INK, annotate, begin, choice, colour, pale, plot
from batchlab.plot.distribution import logarithmic
from batchlab.plot.over_time import Line, Steps, over_time, size_of, stacked, window_means, windows
from batchlab.plot.results import Results, Workloads, clock_of_groups, groups, job_tables, single
from batchlab.plot.scales import Values, clock_of
from batchlab.result.course import rates_of
from batchlab.result.energy import power_of_nodes
from batchlab.workload.requests import run_times

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.over_time import Colour
    from batchlab.plot.results import Results
    from batchlab.result.course import Course
    from batchlab.result.energy import Prices
    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload.workload import Workload

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["gflops", "power", "power_states", "rates"]

_OBSERVATION = "power"
_COLUMNS = ("time", "power")


@plot
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
    kind
        ``"power"`` (W), or ``"energy"`` (J), its integral.
    window
        For the power: seconds over which means are taken; 0 for none [default: chosen by the number of
        steps].

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
        drawn = power_of_nodes(result.run_record, prices)
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


@plot
def power_states(result: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the number of nodes in each power state, stacked, over time.

    Parameters
    ----------
    result
        The result of ``simulate(…, sleep="timeout(300)")``.

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
        return annotate(ax, "nothing happened")
    edges = windows(float(states["start_time"].min()), float(states["end_time"].max()))  # type: ignore[arg-type]  # they are numbers
    parts = {str(name): part for (name,), part in states.group_by("state")}
    every = dict.fromkeys(name for group in found.system.groups for name in group.power_states)
    names = [name for name in every if name in parts]
    courses = {name: window_means(parts[name], edges) for name in names}
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


_MOST_TIMES = 600
_MOST_ROOM = 1.15  # of the highest rate


@plot
def rates(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the remaining work of the jobs present, and the rate of each control, over time.

    Parameters
    ----------
    results
        One result, for example of ``simulate(…, control="workload(1e5, 3e5)")``; of replications only the
        first is drawn. Without a control the rate is 1.

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
    steps = rates_of(result.run_record)
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


_LEAST = 1e-3


@plot
def gflops(
    workloads: Workloads | npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    performance: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the shares of jobs by their computing (Figs. 16 and 17 of [1]), eight classes to a power of ten.

    The computing of a job is run time × tasks × the sum over resources of amount per task × performance.

    Parameters
    ----------
    workloads
        With `performance`, one workload or result, several, or a mapping of labels to them. Without, the
        values in GFLOP: an array, or a mapping of labels to arrays.
    performance
        The performance of one unit of a resource, in GFLOP/s, such as ``{"core": 1.667, "gpu": 933}``. A task
        asks for one core if the workload has no cores.

    Raises
    ------
    ResultError
        If there is no workload, something else is among them, or a performance is not above 0.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    samples = _given(workloads) if performance is None else _computed(workloads, performance)  # type: ignore[arg-type]
    ax = logarithmic(begin(ax, title=title), samples, least=_LEAST)
    if ax.has_data():
        ax.set_xlabel("computing of a job (GFLOP)")
    return ax


def _given(values: object) -> dict[str, Floats]:
    labelled = values if isinstance(values, Mapping) else {"jobs": values}
    try:
        return {str(label): np.asarray(each, dtype=np.float64).ravel() for label, each in labelled.items()}
    except (TypeError, ValueError):
        raise ResultError(
            f"workloads = {shown(values)}; without performance, must be numbers of GFLOP. For workloads, "
            "pass performance={'core': …} in GFLOP/s."
        ) from None


def _computed(workloads: Workloads, performance: Mapping[str, float]) -> dict[str, Floats]:
    for name, speed in performance.items():
        if not 0 < speed < np.inf:
            raise ResultError(f"performance[{name!r}] = {speed!r} GFLOP/s; must be > 0.")
    return {
        each.label: np.concatenate([_computing(workload, performance) for workload in each.workloads])
        for each in job_tables(workloads)
    }


def _computing(workload: Workload, performance: Mapping[str, float]) -> Floats:
    jobs = workload.jobs
    without = {} if "core" in workload.resources else {"core": 1}
    speed = np.zeros(len(jobs))
    for name, each in performance.items():
        amount = jobs[name].to_numpy() if name in workload.resources else without.get(name, 0)
        speed += each * np.asarray(amount)
    return np.asarray(run_times(workload, "gflops") * jobs["tasks"].to_numpy() * speed)
