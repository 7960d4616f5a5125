"""Messages and links: hops, interference and loads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.ticker import EngFormatter, MaxNLocator, NullFormatter, PercentFormatter

from batchlab.errors import Argument, ResultError
from batchlab.placement.orders import Layout, layout_of
from batchlab.platform import Dragonfly, Torus
from batchlab.plot.canvas import (
    GRID,
    INK,
    annotate,
    begin,
    choice,
    colour,
    dress,
    legend,
    line_style,
    plot,
    rows_size,
)
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.over_time import Line, Steps, over_time, size_of
from batchlab.plot.placement import Tiles, space, tiles_of
from batchlab.plot.results import Group, Results, clock_of_groups, groups, single
from batchlab.plot.scales import Values, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.platform import Platform
    from batchlab.result.result import Result

    Curves: TypeAlias = Results | Mapping[str, Mapping[str, Result | Iterable[Result]]]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["hop_bytes", "hops", "interference", "link_loads", "platform_activity"]


HopMeasure: TypeAlias = Literal["mean_hops", "max_hops", "hop_bytes", "run_time"]

_HOP_LABELS = {
    "mean_hops": "hops, mean over messages",
    "max_hops": "most hops of a message",
    "hop_bytes": "hop-bytes of all jobs",
    "run_time": "run time, mean over jobs",
}


_UNITS = {"hop_bytes": "B", "run_time": "s"}


@dataclass(frozen=True)
class _Curve:
    label: str | None
    points: tuple[Group, ...]


@plot
def hops(
    results: Curves,
    *,
    ax: Axes | None = None,
    of: HopMeasure = "mean_hops",
    along: str = "",
    title: str | None = None,
) -> Axes:
    """Draw the hops of messages by the labels of results (Figs. 4 and 5 of [1]): such as sizes of boxes.

    Parameters
    ----------
    results
        Of ``simulate(…, messages=True)``: a mapping of labels (``"2×1×2"``) to results or to replications,
        whose mean is drawn; or a mapping of the names of curves (``"1024 ranks"``) to such mappings. For a
        sequence the labels are those of its groups.
    of
        ``"mean_hops"``, ``"max_hops"``, ``"hop_bytes"``, or ``"run_time"`` of the jobs that have messages.
    along
        The meaning of the labels, for the axis: ``"box"``.

    Raises
    ------
    ResultError
        If the measure is unknown, or messages were not counted.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    choice("of", of, get_args(HopMeasure))
    curves = _curves(results)
    labels = [*dict.fromkeys(group.label for curve in curves for group in curve.points)]
    values = {curve.label: {group.label: _mean(group, of) for group in curve.points} for curve in curves}
    ax = begin(ax, title=title)
    if not any(np.isfinite(value) for points in values.values() for value in points.values()):
        return annotate(ax, "no job has sent a message")
    for number, (label, points) in enumerate(values.items()):
        heights = [points.get(each, np.nan) for each in labels]
        ax.plot(
            range(len(labels)),
            heights,
            marker="o",
            markersize=4,
            color=colour(number),
            ls=line_style(number),
            linewidth=1.4,
            label=label,
        )
    ax.set_xticks(range(len(labels)), labels)
    ax.margins(x=0.06)
    most = max(value for points in values.values() for value in points.values() if np.isfinite(value))
    ax.set_ylim(0, 1.08 * most or 1.0)
    ax.set_xlabel(along or "as labelled")
    ax.set_ylabel(_HOP_LABELS[of])
    if of in _UNITS:
        ax.yaxis.set_major_formatter(EngFormatter(unit=_UNITS[of]))
    legend(ax, len(curves))
    return dress(ax, grid="y")


@plot
def hop_bytes(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "cdf",
    log: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the hop-bytes of jobs, one per group (Fig. 7 of [1]).

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to replications, whose jobs are pooled; all
        of ``simulate(…, messages=True)``. Jobs without messages are ignored.
    kind
        ``"cdf"``, ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile) or ``"violin"``.
    log
        True for an axis that is logarithmic above 1, and begins at 0.

    Raises
    ------
    ResultError
        If an argument is invalid, or messages were not counted.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    samples = [
        Sample(group.label, np.concatenate([_of_jobs(each) for each in group.results]))
        for group in groups(results)
    ]
    positive = all((each.values > 0).all() for each in samples)
    quantity = Quantity(
        "hop-bytes of a job",
        ("log" if positive else "log1p") if log else "linear",
        nothing="no job has sent a message",
    )
    ax = distribution(begin(ax, title=title, size=rows_size(len(samples))), samples, quantity, kind)
    if any(len(each.values) for each in samples):
        ax.xaxis.set_major_formatter(EngFormatter(unit="B"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    return ax


def _of_jobs(result: Result) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    by_job = result.messages.group_by("row", maintain_order=True).agg(pl.col("hop_bytes").sum())
    return by_job["hop_bytes"].to_numpy()


def _curves(results: Curves) -> Sequence[_Curve]:
    if isinstance(results, Mapping) and results:
        nested = [isinstance(inner, Mapping) for inner in results.values()]
        if all(nested):
            return [_Curve(str(name), groups(inner)) for name, inner in results.items()]
        if any(nested):
            rule = "must be mappings of labels to results, all of them or none"
            raise ResultError(f"results: the values of its curves {rule}.")
    return [_Curve(None, groups(results))]  # type: ignore[arg-type]  # no mappings in it


def _mean(group: Group, of: HopMeasure) -> float:
    found = [_measured(each, of) for each in group.results]
    return float(np.mean([value for value in found if value is not None] or [np.nan]))


def _measured(result: Result, of: HopMeasure) -> float | None:
    table = result.messages
    if table.is_empty():
        return None
    if of == "mean_hops":
        return float((table["mean_hops"] * table["messages"]).sum()) / float(table["messages"].sum())
    if of == "max_hops":
        return float(table["max_hops"].max())  # type: ignore[arg-type]  # a number
    if of == "hop_bytes":
        return float(table["hop_bytes"].sum())
    rows = table["row"].unique()
    times = result.jobs["run_time"].gather(rows).drop_nulls()
    return float(times.to_numpy().mean()) if len(times) else None


@plot
def interference(
    results: Results,
    *,
    ax: Axes | None = None,
    kind: Kind = "box",
    log: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw the distribution of the slowdown of jobs by others, one per group (Fig. 6 of [1]).

    Each job that has an application is run again, alone on its nodes: see `Result.interference`.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels (``"1 job"``, ``"2 jobs"``, …) to results or to
        replications, whose jobs are pooled.
    kind
        ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile), ``"violin"`` or ``"cdf"``.
    log
        True for a logarithmic axis.

    Raises
    ------
    ResultError
        If an argument is invalid, or a system has no platform.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    samples = [
        Sample(
            group.label,
            np.concatenate(
                [each.interference()["slowdown"].drop_nulls().to_numpy() for each in group.schedules]
            ),
        )
        for group in groups(results)
    ]
    quantity = Quantity(
        "run time, of that alone", "log" if log else "linear", nothing="no job has an application"
    )
    return distribution(begin(ax, title=title, size=rows_size(len(samples))), samples, quantity, kind)


LinkMeasure: TypeAlias = Literal["mean_load", "peak_load", "bytes", "congested_time"]
View: TypeAlias = Literal["slices", "3d"]

_LOAD_LABELS = {
    "mean_load": "mean load of links",
    "peak_load": "peak load of links",
    "bytes": "bytes over links",
    "congested_time": "congested time of links",
}
_SHARES = ("mean_load", "peak_load")
_PLANE, _SPACE = 2, 3
_SHADES: Any = ListedColormap(colormaps["inferno_r"](np.linspace(0.08, 0.95, 256)), "loads")
_BLUE = re.compile(r"blue_link_between_group_(\d+)_and_(\d+)_.*_(UP|DOWN)$")
_LOCAL = re.compile(r"(green|black)_link_in_(chassis|group)_(\d+)_.*_(UP|DOWN)$")


@plot
def link_loads(
    results: Results,
    *,
    ax: Axes | None = None,
    of: LinkMeasure = "mean_load",
    view: View = "slices",
    title: str | None = None,
) -> Axes:
    """Draw the loads of links of a torus or a dragonfly: of the latter those between groups.

    On a torus a line between two routers has the colour of the greater of its two directions; links along
    further dimensions than two are dots at their routers, and links that wrap around are short lines at the
    edges. A dragonfly is drawn as a matrix: from which group (row) to which (column), and on the diagonal the
    greatest of the links within a group. Unused links are grey.

    Parameters
    ----------
    results
        One result, of ``simulate(…, messages=True)``; of replications the first is drawn.
    ax
        The axes [default: new axes]. In 3D they need ``projection="3d"``.
    of
        A column of `Result.links`: ``"mean_load"`` or ``"peak_load"``, as shares of the bandwidth,
        ``"bytes"`` or ``"congested_time"``.
    view
        ``"slices"``, or ``"3d"`` for a torus of two or three dimensions.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; the scale of colours has its own axes beside them.

    Raises
    ------
    ResultError
        If there are several groups, messages were not counted, or the machine is neither a torus nor a
        dragonfly.
    """
    choice("of", of, get_args(LinkMeasure))
    choice("view", view, get_args(View))
    result = single(results)
    links = result.links
    values = links[of].to_numpy().astype(np.float64)
    if of in _SHARES:
        values = values / np.maximum(links["bandwidth"].to_numpy(), np.finfo(np.float64).tiny)
    layout = layout_of(result.system)
    if isinstance(layout.topology, Torus):
        wires = _wires(result, layout, values)
        if view == "3d":
            return _in_space(wires, layout, of, space(ax, title))
        return _flat(begin(ax, title=title, size=(7.2, 4.4)), wires, tiles_of(result.system), of)
    if isinstance(layout.topology, Dragonfly) and view == "slices":
        return _matrix(
            begin(ax, title=title, size=(5.4, 4.4)), links["link"].to_list(), layout.topology, values, of
        )
    kind = type(layout.topology).__name__
    rule = "this map is for a torus, or in slices for a dragonfly; result.links has the numbers"
    raise ResultError(f"the nodes are connected by a {kind}; {rule}.")


@dataclass(frozen=True)
class _Wires:
    """Links between neighbouring routers: their numbers, the dimension, and the greater of both ways."""

    one: Integers
    other: Integers
    dimension: Integers
    value: Floats
    sides: tuple[int, ...]

    def coordinates(self, router: Integers) -> Integers:
        """Return the coordinates of routers: int64, shape (routers, dimensions)."""
        found = []
        for side in self.sides:
            found.append(router % side)
            router = router // side
        return np.stack(found, axis=-1)


def _wires(result: Result, layout: Layout, values: Floats) -> _Wires:
    platform: Platform = result.system.platform  # type: ignore[assignment]  # it has a layout
    numbers = {link.name: number for number, link in enumerate(platform.links)}
    hosts = dict(zip(layout.places, result.system.hosts, strict=True))
    here, sides = layout.levels[0], layout.levels[1:]
    wires: list[tuple[int, int, int, float]] = []
    routers = {place // here: name for place, name in hosts.items()}
    weight = 1
    for dimension, side in enumerate(sides):
        for router, name in routers.items():
            at = router // weight % side
            other = router + weight * ((at + 1) % side - at)
            # Two routers along a dimension are joined by one link, and a single one by none.
            if other in routers and other != router and not (side == _PLANE and at == 1):
                ways = (platform.route(name, routers[other]), platform.route(routers[other], name))
                between = [numbers[link] for way in ways for link in way.links if "_link_from_" in link]
                wires.append((router, other, dimension, max(values[link] for link in between)))
        weight *= side
    table = np.array(wires, np.float64).reshape(-1, 4)
    whole = table[:, :3].astype(np.int64)
    return _Wires(whole[:, 0], whole[:, 1], whole[:, 2], table[:, 3], sides)


def _segments(
    start: Floats, end: Floats, along: Integers, around: npt.NDArray[np.bool_]
) -> tuple[Floats, Integers]:
    """Return lines between points, two short ones if they wrap around; and the number of each line's link."""
    own = np.arange(len(start))
    step = np.zeros_like(start)
    step[own, along] = 0.5
    straight = np.stack([start, end], axis=1)[~around]
    out = np.stack([start, start + step], axis=1)[around]
    back = np.stack([end - step, end], axis=1)[around]
    return np.concatenate([straight, out, back]), np.concatenate([own[~around], own[around], own[around]])


def _flat(ax: Axes, wires: _Wires, tiles: Tiles, of: LinkMeasure) -> Axes:
    scale = _scale(wires.value, of)
    inside = wires.dimension < _PLANE
    start, end = (np.stack(tiles.routers(each[inside]), axis=1) for each in (wires.one, wires.other))
    along, value = wires.dimension[inside], wires.value[inside]
    at_edge = wires.coordinates(wires.other[inside])[np.arange(inside.sum()), along] == 0
    lines, whose = _segments(start, end, along, at_edge)
    # The greatest loads are drawn last.
    order = np.argsort(value[whose], kind="stable")
    colours = _colours(scale, value[whose][order])
    many = len(lines) > 20_000  # noqa: PLR2004  # a file of so many lines is slow to open
    ax.add_collection(LineCollection([*lines[order]], colors=colours, linewidths=2.0, rasterized=many))
    routers = np.arange(int(np.prod(wires.sides)))
    deeper = np.zeros(len(routers))
    for each in (wires.one, wires.other):
        np.maximum.at(deeper, each[~inside], wires.value[~inside])
    x, y = tiles.routers(routers)
    size = min(30.0, max(1.0, 20_000 / len(routers)))
    ax.scatter(x, y, s=size, c=_colours(scale, deeper), zorder=3, linewidths=0.3, edgecolors="white")
    tiles.dress(ax)
    if len(wires.sides) > _PLANE:
        ax.set_xlabel(f"{ax.get_xlabel()}; dots: links to other slices")
    _colour_bar(ax, scale, of)
    dress(ax, grid=None)
    ax.spines[:].set_visible(False)
    return ax


def _in_space(wires: _Wires, layout: Layout, of: LinkMeasure, ax: Any) -> Axes:  # noqa: ANN401  # matplotlib's 3D axes have no types
    from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]  # noqa: PLC0415  # only in 3D

    if len(layout.levels) > 1 + _SPACE:
        raise ResultError(
            "view = '3d'; needs a torus of at most three dimensions. Use ", Argument("view", "'slices'"), "."
        )
    scale = _scale(wires.value, of)
    start, end = (np.zeros((len(wires.one), _SPACE)) for _ in range(2))
    start[:, : len(wires.sides)] = wires.coordinates(wires.one)
    end[:, : len(wires.sides)] = wires.coordinates(wires.other)
    at_edge = end[np.arange(len(end)), wires.dimension] == 0
    lines, whose = _segments(start, end, wires.dimension, at_edge)
    value = wires.value[whose]
    widths = 0.5 + 2.0 * scale(value)
    ax.add_collection3d(Line3DCollection([*lines], colors=_colours(scale, value), linewidths=widths))
    for name, side in zip("xyz", (*wires.sides, 1, 1), strict=False):
        getattr(ax, f"set_{name}lim")(-0.5, side - 0.5)
    _colour_bar(ax, scale, of)
    drawn: Axes = ax
    return drawn


def _matrix(ax: Axes, names: list[str], topology: Dragonfly, values: Floats, of: LinkMeasure) -> Axes:
    groups = topology.groups
    matrix = np.zeros((groups, groups))
    seen = {"green": 0, "black": 0}
    in_group = {kind: sum(name.startswith(kind) for name in names) // groups for kind in seen}
    for name, value in zip(names, values, strict=True):
        blue, local = _BLUE.search(name), _LOCAL.search(name)
        if blue:
            one, other = int(blue[1]), int(blue[2])
            pair = (one, other) if blue[3] == "UP" else (other, one)
            matrix[pair] = max(matrix[pair], value)
        elif local:
            # The links are listed group by group.
            group = seen[local[1]] // in_group[local[1]]
            seen[local[1]] += 1
            matrix[group, group] = max(matrix[group, group], value)
    scale = _scale(matrix.ravel(), of)
    edges = np.arange(groups + 1) - 0.5
    colours = _colours(scale, matrix.ravel()).reshape(groups, groups, 4)
    ax.pcolormesh(edges, edges, colours, edgecolors="white", linewidth=0.6 if groups <= 40 else 0.0)  # noqa: PLR2004  # else all is white
    ax.invert_yaxis()
    ax.set_aspect("equal")
    ax.set_xlabel("to group (on the diagonal: within it)")
    ax.set_ylabel("from group")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(10, integer=True))
    _colour_bar(ax, scale, of)
    dress(ax, grid=None)
    ax.spines[:].set_visible(False)
    return ax


def _scale(values: Floats, of: LinkMeasure) -> Normalize:
    most = float(values.max(initial=0.0))
    return Normalize(0.0, most or (1.0 if of in _SHARES else 1e-9))


def _colours(scale: Normalize, values: Floats) -> Floats:
    colours: Floats = np.asarray(_SHADES(scale(values)), np.float64)
    colours[values <= 0] = to_rgba(GRID)
    return colours


def _colour_bar(ax: Axes, scale: Normalize, of: LinkMeasure) -> None:
    figure = ax.get_figure()
    if figure is None:
        return
    bar = figure.colorbar(ScalarMappable(scale, _SHADES), ax=ax, shrink=0.8, pad=0.03, aspect=25)
    if of in _SHARES:
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    else:
        bar.ax.yaxis.set_major_formatter(EngFormatter(unit="B" if of == "bytes" else "s"))
    bar.set_label(_LOAD_LABELS[of], color=INK)
    bar.ax.tick_params(colors=INK, labelsize="small")
    bar.outline.set_visible(False)


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
    """Draw the use of the platform over time: from `Result.utilisation`.

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
            f"results: the platform was not sensed under {result.policy}; ",
            Argument("sensing", "Sensing(interval)", "simulate()"),
            ".",
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
