"""Power, power states, rates and speed over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.ticker import EngFormatter

from batchlab.control import CountHysteresis, WorkloadHysteresis
from batchlab.errors import Argument, ResultError, shown
from batchlab.plot.canvas import INK, annotate, begin, choice, colour, dress, pale, plot
from batchlab.plot.distribution import logarithmic
from batchlab.plot.over_time import (
    Course,
    Line,
    Scale,
    Steps,
    draw_lane,
    drawable_steps,
    label_lanes,
    lanes_size,
    over_time,
    size_of,
    stacked,
    window_means,
    window_of,
    windows,
)
from batchlab.plot.results import Results, Workloads, clock_of_groups, groups, job_tables, single
from batchlab.plot.scales import Values, clock_of, plain, short_duration, time_axis
from batchlab.result.course import rates_of
from batchlab.result.energy import power_of_nodes
from batchlab.workload.requests import run_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.over_time import Colour
    from batchlab.plot.results import Results
    from batchlab.result.course import Course as RunCourse
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
    """Draw the power of the machine over time, or its energy.

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
            f"{result!r} has no observations of power; ",
            Argument("observers", "{'power': Power(…)}", "simulate()"),
            ".",
        )
    time, power = (table[name].to_numpy().astype(np.float64) for name in _COLUMNS)
    return Steps(time, power)


def _added_up(steps: Steps) -> Steps:
    if not len(steps.time):
        return steps
    return Steps(steps.time, np.concatenate([[0.0], np.cumsum(steps.value[:-1] * np.diff(steps.time))]))


@plot
def power_states(result: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the number of nodes by power state over time, stacked.

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
_SIDES = ("low", "high")
_OBSERVED = {WorkloadHysteresis: "work left", CountHysteresis: "jobs"}


@plot
def rates(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the work left, jobs in service and rates over time.

    Parameters
    ----------
    results
        One result, for example of ``simulate(…, control="workload(1e5, 3e5)")``; of replications only the
        first is drawn. Without a control the rate is 1.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a row for each quantity; exact if they change at no more than 600 times, else means.
        Jobs present, in service or not, are grey. Dashed lines are the thresholds of the controls ``count``
        and ``workload``, in the row of the quantity that they observe.

    Raises
    ------
    ResultError
        If there are several groups.
    """
    result = single(results)
    course, names = result.course, _control_names(result)
    rows = 2 + len(names)
    ax = begin(ax, title=title, size=lanes_size(rows))
    if course.span == 0:
        return over_time(ax, [], Values("work left"))
    exact = len(course.time) <= _MOST_TIMES
    served = _counted(course, course.served)
    width = window_of([served], 0 if exact else None)

    def row(label: str, steps: Steps, number: int) -> Course:
        drawn = drawable_steps(Line(label, (steps,), number), width)
        return Course(label, drawn.time, drawn.value, number)

    present = row("jobs present", _counted(course, course.present), 1)
    lanes = [
        (row("work left", _exact(course) if exact else _middle(course), 0), _lines_of(result, "work left")),
        (row("jobs in service (grey: and waiting)", served, 1), _lines_of(result, "jobs")),
        *(
            (row(name, steps, at), ())
            for at, (name, steps) in enumerate(zip(names, _rate_steps(result), strict=True), 2)
        ),
    ]
    scales = []
    for place, (each, thresholds) in enumerate(lanes):
        grey = present if place == 1 else None
        shown = [each.value, *([grey.value] if grey else []), np.array([value for value, _ in thresholds])]
        values = Values("")
        scale = Scale(values, *values.reach(max(float(value.max(initial=0.0)) for value in shown)))
        draw_lane(ax, each, scale, place, of=rows, joined=exact and place == 0, grey=grey)
        _draw_thresholds(ax, scale, rows - 1 - place, thresholds)
        scales.append(scale)
    label_lanes(ax, scales)
    ax.margins(x=0.01)
    label = time_axis(ax, clock_of([result]))
    ax.set_xlabel(label + (f" (means over {short_duration(width)})" if width else ""))
    ax.set_ylabel("work, jobs and rates")
    return dress(ax, grid=None)


def _counted(course: RunCourse, numbers: npt.NDArray[np.int64]) -> Steps:
    """Return numbers of jobs from each time on, up to the end."""
    last = float(course.time[-1] + course.duration[-1])
    if last == course.time[-1]:
        return Steps(course.time, numbers.astype(np.float64))
    return Steps(np.append(course.time, last), np.append(numbers, numbers[-1]).astype(np.float64))


def _lines_of(result: Result, observed: str) -> tuple[tuple[float, str], ...]:
    """Return the finite thresholds of the controls that observe a quantity, and what they are."""
    found: dict[float, list[str]] = {}
    for control in result.options.controls:
        if isinstance(control, CountHysteresis | WorkloadHysteresis) and _OBSERVED[type(control)] == observed:
            for side in _SIDES:
                for value in control.steps(side):
                    found.setdefault(value, []).append(side)
    return tuple(
        (value, " = ".join(dict.fromkeys(sides))) for value, sides in found.items() if math.isfinite(value)
    )


def _draw_thresholds(ax: Axes, scale: Scale, base: int, thresholds: Sequence[tuple[float, str]]) -> None:
    across = ax.get_yaxis_transform()
    for value, side in thresholds:
        height = base + float(scale.height(value))
        ax.hlines(height, 0, 1, transform=across, colors=INK, linewidths=0.8, linestyles="--", zorder=3)
        text = f"{side} {plain(value)}"
        ax.text(1.0, height, text, transform=across, ha="right", va="bottom", fontsize="small", color=INK)


def _exact(course: RunCourse) -> Steps:
    """Return the work at each time, and just before the next: it falls in a line, and jumps."""
    before_next = course.workload - course.fall * course.duration
    both = np.column_stack([course.workload, before_next]).ravel()
    times = np.column_stack([course.time, course.time + course.duration]).ravel()
    return Steps(times, np.maximum(both, 0.0))


def _middle(course: RunCourse) -> Steps:
    """Return the mean of the work from each time to the next, which has the right means over windows."""
    return Steps(course.time, np.maximum(course.workload - course.fall * course.duration / 2, 0.0))


def _control_names(result: Result) -> list[str]:
    named = ["|".join(control.groups) for control in result.options.controls]
    return [f"rate, {name}" if name else "rate" for name in named] or ["rate"]


def _rate_steps(result: Result) -> list[Steps]:
    """Return the rate of each control during the run; the last value holds to its end."""
    course, names = result.course, _control_names(result)
    first, last = float(course.time[0]), float(course.time[-1])
    found = []
    for each in rates_of(result.run_record)[: len(names)]:
        inside = (each.time > first) & (each.time < last)
        before = each.value[max(int(np.searchsorted(each.time, first, "right")) - 1, 0)]
        values = np.concatenate([[before], each.value[inside]])
        times = np.concatenate([[first], each.time[inside], [last]])
        found.append(Steps(times, np.append(values, values[-1])))
    return found


_LEAST = 1e-3


@plot
def gflops(
    workloads: Workloads | npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    performance: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the computing of jobs, in GFLOP (Figs. 16 and 17 of [1]): eight classes to a power of ten.

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
            "add ",
            Argument("performance", "{'core': …}"),
            " in GFLOP/s.",
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
