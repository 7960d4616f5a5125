"""The queue and the load: waiting jobs and why they wait, use of resources, and shares of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from batchlab.core.units import format_count
from batchlab.errors import ResultError
from batchlab.plot.canvas import PALETTE, annotate, begin, choice, colour, pale, plot, rows_size
from batchlab.plot.distribution import KINDS, Kind, Quantity, Sample, distribution
from batchlab.plot.over_time import Line, Steps, over_time, size_of, stacked, windows
from batchlab.plot.results import Group, Results, clock_of_groups, groups, jobs_of, single, steps_of
from batchlab.plot.scales import Values, clock_of, percent, plain
from batchlab.result.timeline import demands
from batchlab.result.why.capacity import HOLDER_TITLES, HOLDERS
from batchlab.result.why.summary import part_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.core.vocabulary import WaitSplit
    from batchlab.result.result import Result

__all__ = ["fair_share", "load", "queue_size", "utilisation", "waiting_reasons", "waiting_time", "why"]


_MOST_LINEAR = 4.0


@plot
def load(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the requests of all jobs present over time: of running and waiting ones, of the capacity.

    Above 100 % (the line), jobs must wait; the area between load and utilisation are the waiting jobs. If
    more than four times the capacity is requested, the axis is logarithmic, from 10 %. More than two courses
    have a row each, with the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    resource
        The resource [default: the system's first].

    Raises
    ------
    ResultError
        If no system has the resource, or the window is not a duration.
    """
    found = groups(results)
    name = resources_of(found, resource)[0]
    lines = [
        Line(group.label, tuple(load_course(result, name) for result in group.schedules), index)
        for index, group in enumerate(found)
    ]
    values = load_values(name, lines)
    ax = begin(ax, title=title, size=size_of(len(lines)))
    return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")


def load_values(resource: str, lines: Sequence[Line]) -> Values:
    """Return the axis of loads: logarithmic if much more than the capacity is requested."""
    every = [each.value for line in lines for each in line.replications]
    greatest = max((float(values.max(initial=0)) for values in every), default=0.0)
    scale: Literal["log", "linear"] = "log" if greatest > _MOST_LINEAR else "linear"
    return Values(f"{resource} asked for, of capacity", scale, percent, mark=1.0)


def load_course(result: Result, resource: str) -> Steps:
    """Return the requests of running and waiting jobs from each instant on, as a share of the capacity."""
    jobs, capacity = jobs_of(result), result.system.total.get(resource, 0)
    if not capacity:
        return Steps(np.zeros(0), np.zeros(0))
    table = steps_of(result, {resource: demands(jobs, result.system)[resource]})
    asked = (table[f"used_{resource}"] + table[f"waiting_{resource}"]).to_numpy()
    return Steps(table["time"].to_numpy(), asked / capacity)


@plot
def queue_size(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind | Literal["time"] = "box",
    over: Literal["time", "instants"] = "time",
    log: bool = True,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the number of waiting jobs: its distribution, or over time.

    Each length of the queue has the weight of the time for which it lasts, from the first submission to the
    last event: the mean is the mean queue length of the tables. The distribution over dispatch instants is
    that of Fig. 11 of [1]: at such an instant a job is submitted or ends, and the queue has the jobs that the
    scheduler finds then, including those submitted at that instant, before it starts any.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"``, ``"cdf"``, or
        ``"time"`` for the number after each instant, over time.
    over
        The weights of a distribution: ``"time"``, or ``"instants"`` for the same weight at each dispatch
        instant.
    log
        True for a scale that is logarithmic above 1, and begins at 0.
    window
        Over time: seconds over which means are taken; 0 for none [default: chosen by the number of steps].

    Raises
    ------
    ResultError
        If an argument is invalid.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("kind", kind, (*KINDS, "time"))
    choice("over", over, ("time", "instants"))
    found = groups(results)
    if kind == "time":
        ax = begin(ax, title=title, size=size_of(len(found)))
        lines = [
            Line(each.label, tuple(map(queue_course, each.schedules)), index)
            for index, each in enumerate(found)
        ]
        values = Values("jobs in the queue", "log1p" if log else "linear")
        return over_time(ax, lines, values, window=window, clock=clock_of_groups(found), lanes="compared")
    ax = begin(ax, title=title, size=rows_size(len(found)))
    sample = _over_time if over == "time" else _at_dispatch
    samples = [sample(each) for each in found]
    scale: Literal["log1p", "linear"] = "log1p" if log else "linear"
    label = "jobs in the queue" + (" at dispatch instants" if over == "instants" else "")
    quantity = Quantity(label, scale, of=over, nothing="nothing was submitted")
    return distribution(ax, samples, quantity, kind)


def queue_course(result: Result) -> Steps:
    """Return the number of waiting jobs from each instant on."""
    table = steps_of(result)
    return Steps(table["time"].to_numpy(), table["queued"].to_numpy().astype(np.float64))


def _over_time(group: Group) -> Sample:
    """Return the lengths of the queue, weighted by the time for which they last."""
    courses = [queue_course(each) for each in group.schedules]
    values = [each.value[:-1] for each in courses]
    weights = [np.diff(each.time) for each in courses]
    if not any(each.any() for each in weights):
        # Everything happened at one instant.
        return Sample(group.label, np.concatenate([each.value for each in courses]))
    return Sample(group.label, np.concatenate(values), np.concatenate(weights))


def _at_dispatch(group: Group) -> Sample:
    """Return the lengths of the queue that schedulers find."""
    found = []
    for result in group.schedules:
        course, started = queue_course(result), np.sort(result.outcome.start_time)
        until = np.searchsorted(started, course.time, side="right")
        found.append(course.value + until - np.searchsorted(started, course.time, side="left"))
    return Sample(group.label, np.concatenate(found))


_STYLES = ("-", "--", ":", "-.")


@plot
def utilisation(
    results: Results,
    *,
    ax: Axes | None = None,
    resource: str | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the shares of resources that jobs hold over time.

    More than two courses have a row each; if they are of one resource, with the first in grey for comparison.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose mean is drawn.
    resource
        The resource [default: all that jobs hold].

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


# The usual causes of waits; they come first, so that their colours differ most.
_USUAL = (
    "resources_earlier",
    "resources_overtakers",
    "would_delay",
    "order",
    "limit",
    "promised",
    "not_looked_at",
)


def _colours(names: Sequence[str]) -> dict[str, str | tuple[float, float, float]]:
    """Return colours of causes, which are the same in every picture, whichever causes it has."""
    ordered = sorted(names, key=lambda name: _USUAL.index(name) if name in _USUAL else len(_USUAL))
    return {
        name: colour(at) if at < len(PALETTE) else pale(colour(at), 0.5) for at, name in enumerate(ordered)
    }


def _holder_colours() -> dict[str, str | tuple[float, float, float]]:
    """Return the colours of holders by their names in the legend."""
    colours = _colours(HOLDERS)
    return {HOLDER_TITLES[name]: colours[name] for name in HOLDERS} | {"idle": colours["idle"]}


@plot
def why(result: Results, *, ax: Axes | None = None, job: int | None = None, title: str | None = None) -> Axes:
    """Draw the use of the machine while a job waited (semantics, S29), stacked, over time.

    Parameters
    ----------
    result
        One result; of replications only the first is drawn.
    job
        The number of the job [default: the one that waited longest].

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Means over at most 120 windows of a round length; the area of a colour is the part of the
        wait that `Result.why` names.

    Raises
    ------
    ResultError
        If no job has this number or it was rejected, or there are several groups of results.
    """
    found = single(result)
    chosen = _longest_wait(found) if job is None else job
    ax = begin(ax, title=title)
    if chosen is None:
        return annotate(ax, "no job waited")
    answer = found.why(chosen)
    if not answer.wait:
        return annotate(ax, f"job {chosen} did not wait")
    course = answer.capacity.course
    times = np.append(course["start_time"].to_numpy(), answer.until)
    edges = windows(answer.submit_time, answer.until)
    means = {}
    for holder, name in HOLDER_TITLES.items():
        units = np.concatenate([[0.0], np.cumsum(course[holder].to_numpy() * np.diff(times))])
        if units[-1]:
            # Beyond the wait nothing is added, also where the last window is longer.
            means[name] = np.diff(np.interp(edges, times, units)) / np.diff(edges)
    unit = answer.capacity.resource
    label = f"{unit} while job {chosen} waited"
    return stacked(ax, means, edges, label, colours=_holder_colours(), clock=clock_of([found]))


_MOST_GROUPS = 11


@plot
def waiting_time(
    result: Results,
    *,
    ax: Axes | None = None,
    of: WaitSplit = "holders",
    by: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the number of waiting jobs over time, stacked by cause.

    Parameters
    ----------
    result
        One result; of replications only the first is drawn.
    of
        ``"holders"``: the use of the machine meanwhile (semantics, S29). ``"gates"``: why the jobs could
        not start, and ``"limits"``: which limit they exceeded (S15); both need ``explain=True``.
    by
        A column of the jobs, or ``"size"``, to stack groups of jobs in place of causes; of many groups the 11
        that waited longest, and the others together.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Means over at most 120 windows of a round length; the area of a colour is the part of the
        waiting time that `Result.waiting_time` names, with the greatest at the bottom.

    Raises
    ------
    ResultError
        If an argument is invalid, gates were not recorded, or there are several groups of results.
    """
    found = single(result)
    ax = begin(ax, title=title)
    first, last = float(found.workload.jobs["submit_time"].min() or 0.0), float(found.outcome.now)  # type: ignore[arg-type]  # numbers
    width = float(windows(first, last)[1]) - first
    table = found.waiting_time(by, of=of, every=width)
    if table.is_empty():
        return annotate(ax, "no job waited")
    period = ((table["start_time"] - first) / width).round().cast(pl.Int64)
    edges = np.asarray(first + width * np.arange(int(period.max()) + 2), np.float64)  # type: ignore[arg-type]  # a number
    colours = None
    if by is None:
        names = table.columns[table.columns.index("wait") + 1 :]
        parts = {part_title(name, of): (period, table[name]) for name in names if table[name].sum()}
        of_parts = {part_title(name, of): hue for name, hue in _colours(names).items()}
        colours = _holder_colours() if of == "holders" else of_parts
    else:
        parts = _groups_of(table.with_columns(period=period), by)
    means = {}
    for name, (periods, seconds) in parts.items():
        means[name] = np.bincount(periods, seconds, len(edges) - 1) / width
    ordered = sorted(means, key=lambda name: (name == _OTHERS, -means[name].sum(), name))
    return stacked(
        ax,
        {name: means[name] for name in ordered},
        edges,
        "waiting jobs",
        colours=colours,
        clock=clock_of([found]),
    )


@plot
def waiting_reasons(result: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the number of waiting jobs over time, stacked by why they could not start (semantics, S15).

    Parameters
    ----------
    result
        The result of ``simulate(…, explain=True)``; of replications only the first is drawn.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, as `waiting_time` draws them with ``of="gates"``.

    Raises
    ------
    ResultError
        If gates were not recorded, or there are several groups of results.
    """
    return waiting_time(result, ax=ax, of="gates", title=title)


_OTHERS = "others"


def _groups_of(table: pl.DataFrame, by: str) -> dict[str, tuple[pl.Series, pl.Series]]:
    """Return the periods and the waiting of each group; of many groups the greatest, and the others."""
    total = table.group_by(by).agg(pl.col("wait").sum()).sort("wait", by, descending=[True, False])
    parts = {}
    for value in total[by].head(_MOST_GROUPS):
        own = table.filter(pl.col(by).eq_missing(value))
        name = (
            "none"
            if value is None
            else f"up to {format_count(value, 'task')}"
            if by == "size"
            else f"{by} {value}"
        )
        parts[name] = own["period"], own["wait"]
    others = table.join(total.head(_MOST_GROUPS), on=by, how="anti", nulls_equal=True)
    if len(others):
        parts[_OTHERS] = others["period"], others["wait"]
    return parts


def _longest_wait(result: Result) -> int | None:
    """Return the number of the job that waited longest; None if no job waited."""
    jobs = jobs_of(result)
    waits = (jobs["start_time"] - jobs["submit_time"]).fill_null(0.0)
    if not (waits > 0).any():
        return None
    return int(jobs["job_id"][waits.arg_max() or 0])


SharedQuantity: TypeAlias = Literal["factor", "usage"]

_MOST = 12


@plot
def fair_share(
    result: Results,
    *,
    ax: Axes | None = None,
    of: SharedQuantity = "factor",
    users: Sequence[str] | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the fair-share factors or the usage of users.

    Parameters
    ----------
    result
        One result, of ``simulate(…, usage=True)``.
    of
        ``"factor"``, or ``"usage"`` divided by that of the whole tree.
    users
        The names of users [default: the 12 with the most usage at the end].

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one line for each user in each account.

    Raises
    ------
    ResultError
        If usage was not recorded, an argument is invalid, or a user is in no account.
    """
    choice("of", of, ("factor", "usage"))
    found = single(result)
    table = found.usage
    shares = table.with_columns(usage=(pl.col("usage") / pl.col("usage").max().over("time")).fill_nan(0.0))
    of_users = shares.filter(pl.col("user").is_not_null())
    known = of_users["user"].unique()
    for user in users or ():
        if user not in known:
            raise ResultError(f"users = {user!r}; must be users of an account of the system.")
    last = of_users.filter(pl.col("time") == pl.col("time").max())
    chosen = last.sort("usage", descending=True, maintain_order=True).head(_MOST)
    if users is not None:
        chosen = last.filter(pl.col("user").is_in(users))
    lines = []
    for number, (account, user) in enumerate(chosen.select("account", "user").iter_rows()):
        course = of_users.filter((pl.col("account") == account) & (pl.col("user") == user))
        steps = Steps(course["time"].to_numpy(), course[of].to_numpy())
        lines.append(Line(f"{user} ({account})", (steps,), number))
    label = "fair-share factor" if of == "factor" else "share of all usage"
    values = Values(label, write=plain if of == "factor" else percent, top=1.0)
    clock = clock_of([found])
    return over_time(begin(ax, title=title), lines, values, window=window, clock=clock)
