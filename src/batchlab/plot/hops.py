"""Plots of the distances of messages: hops by sizes of boxes or numbers of blocks, and hop-bytes of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from matplotlib.ticker import EngFormatter, NullFormatter

from batchlab.errors import ResultError
from batchlab.plot.canvas import begin, choice, colour, dress, legend, line_style, rows_size, say
from batchlab.plot.distribution import Kind, Quantity, Sample, distribution
from batchlab.plot.results import Results, groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Curves: TypeAlias = Results | Mapping[str, Mapping[str, Result | Iterable[Result]]]

__all__ = ["hop_bytes", "hops"]

Measure: TypeAlias = Literal["mean_hops", "max_hops", "hop_bytes", "run_time"]

_LABELS = {
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


def hops(
    results: Curves,
    *,
    ax: Axes | None = None,
    of: Measure = "mean_hops",
    along: str = "",
    title: str | None = None,
) -> Axes:
    """Draw distances of messages by the labels of results, such as sizes of boxes (Figs. 4 and 5 of [1]).

    Parameters
    ----------
    results
        Of ``simulate(…, messages=True)``: a mapping of labels (``"2×1×2"``) to results or to replications,
        whose mean is drawn; or a mapping of the names of curves (``"1024 ranks"``) to such mappings. For a
        sequence the labels are those of its groups.
    ax
        The axes [default: new axes].
    of
        ``"mean_hops"``, ``"max_hops"``, ``"hop_bytes"``, or ``"run_time"`` of the jobs that have messages.
    along
        The meaning of the labels, for the axis: ``"box"``.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the measure is unknown, or messages were not counted.

    References
    ----------
    [1] M. A. Obaida and J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC
    2017.
    """
    choice("of", of, get_args(Measure))
    curves = _curves(results)
    labels = [*dict.fromkeys(group.label for curve in curves for group in curve.points)]
    values = {curve.label: {group.label: _mean(group, of) for group in curve.points} for curve in curves}
    ax = begin(ax, title=title)
    if not any(np.isfinite(value) for points in values.values() for value in points.values()):
        return say(ax, "no job has sent a message")
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
    ax.set_ylabel(_LABELS[of])
    if of in _UNITS:
        ax.yaxis.set_major_formatter(EngFormatter(unit=_UNITS[of]))
    legend(ax, len(curves))
    return dress(ax, grid="y")


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
    ax
        The axes [default: new axes].
    kind
        ``"cdf"``, ``"box"`` (quartiles, mean, whiskers at the 5th and 95th percentile) or ``"violin"``.
    log
        True for an axis that is logarithmic above 1, and begins at 0.
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

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


def _mean(group: Group, of: Measure) -> float:
    found = [_measured(each, of) for each in group.results]
    return float(np.mean([value for value in found if value is not None] or [np.nan]))


def _measured(result: Result, of: Measure) -> float | None:
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
