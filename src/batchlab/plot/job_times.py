"""Plot of the times in which each job waited and ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from batchlab.core.units import is_real
from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import INK, PALETTE, annotate, begin, dress, pale, plot
from batchlab.plot.clock import clock_of, time_axis
from batchlab.plot.results import Results, jobs_of, single, steps_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["job_times"]

# Thinner bars would not be recognisable as bars.
_MOST_BARS = 150
_WAITS, _RUNS = pale(PALETTE[1], 0.45), PALETTE[0]


@plot
def job_times(
    results: Results,
    *,
    ax: Axes | None = None,
    start: float | None = None,
    end: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a bar for each job, from its submission over its start to its end (Fig. 6 of [1]).

    Jobs are in the order of submission. Unless a time span is given, at most 150 are shown: those that were
    submitted around the first instant at which most jobs wait, half of them before and half after. The label
    of the axis says how many of all jobs are shown.

    Parameters
    ----------
    results
        One result; of replications only the first is drawn.
    start, end
        Show all jobs that were submitted from and up to these times, in seconds: ``start=0`` shows every job.

    Raises
    ------
    ResultError
        If there are several groups.

    References
    ----------
    [1] T. Özden, T. Beringer, A. Mazaheri, H. Mohammadi Fard and F. Wolf, "ElastiSim: a batch-system
    simulator for malleable workloads", ICPP 2022.
    """
    result = single(results)
    jobs = _present(result, start, end)
    ax = begin(ax, title=title, size=(6.4, 4.0))
    if jobs.is_empty():
        return annotate(ax, "no job was submitted")
    chosen = _chosen(result, jobs) if start is None and end is None else jobs
    bars, ids = _bars_of(result, chosen), chosen["job_id"].to_list()
    first, last = float(bars.start.min()), float(bars.end.max())
    last = last if last > first else first + 1.0
    _draw(ax, bars)
    of_all = f", {len(ids):,} of {jobs.height:,}" if len(ids) < jobs.height else ""
    ax.set(xlim=(first, last), ylim=(0, len(ids)), ylabel=f"job{of_all}")
    ax.set_xlabel(time_axis(ax, clock_of([result])))
    _name_jobs(ax, ids)
    handles = [Patch(color=_WAITS, label="waits"), Patch(color=_RUNS, label="runs")]
    ax.legend(
        handles=handles,
        ncols=2,
        frameon=False,
        fontsize="small",
        labelcolor=INK,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.0,
    )
    return dress(ax, grid="x")


def _present(result: Result, start: float | None, end: float | None) -> pl.DataFrame:
    """Return the jobs that were submitted, in this order, with their rows."""
    jobs = jobs_of(result).with_row_index("row")
    present = jobs.filter(~jobs["state"].is_in(["loaded", "rejected"])).sort("submit_time", "row")
    for name, bound in (("start", start), ("end", end)):
        if bound is not None and not is_real(bound):
            raise ResultError(f"{name} = {shown(bound)} s; must be a number.")
    if start is not None:
        present = present.filter(pl.col("submit_time") >= start)
    return present if end is None else present.filter(pl.col("submit_time") <= end)


def _chosen(result: Result, jobs: pl.DataFrame) -> pl.DataFrame:
    """Choose, if there are too many jobs, those submitted around the instant at which most of them wait."""
    if jobs.height <= _MOST_BARS:
        return jobs
    submitted = jobs["submit_time"].to_numpy()
    course = steps_of(result).filter(pl.col("time").is_between(submitted[0], submitted[-1]))
    longest = course["queued"].arg_max()
    instant = submitted[0] if longest is None else float(course["time"][longest])
    middle = int(np.searchsorted(submitted, instant))
    begin = min(max(middle - _MOST_BARS // 2, 0), jobs.height - _MOST_BARS)
    return jobs.slice(begin, _MOST_BARS)


def _name_jobs(ax: Axes, ids: list[int]) -> None:
    ticks = MaxNLocator(8, steps=[1, 2, 5, 10], integer=True).tick_values(1, len(ids))
    numbers = [int(tick) for tick in ticks if 1 <= tick <= len(ids)]
    ax.set_yticks([number - 0.5 for number in numbers], [str(ids[number - 1]) for number in numbers])


@dataclass(frozen=True)
class _Bars:
    """Intervals of jobs: the job's position, whether it runs, and the start and end."""

    place: Integers
    runs: npt.NDArray[np.bool_]
    start: Floats
    end: Floats


def _bars_of(result: Result, jobs: pl.DataFrame) -> _Bars:
    """Make a bar for each job from its submission to its end, and one over that for each run."""
    place = np.full(len(result.workload), -1)
    place[jobs["row"].to_numpy()] = np.arange(jobs.height)
    lives = jobs.select("row", start="submit_time", end="end_time")
    ran = jobs.filter(jobs["start_time"].is_not_null()).select("row", start="start_time", end="end_time")
    shown = pl.col("row").cast(pl.UInt32).is_in(jobs["row"].cast(pl.UInt32).implode())
    cut = result.interruptions.filter(shown).select("row", start="start_time", end="end_time")
    parts = [_columns(table, place, result.outcome.now) for table in (lives, ran, cut)]
    runs = np.repeat([False, True, True], [len(each[0]) for each in parts])
    where, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Bars(where, runs, start, end)


def _columns(table: pl.DataFrame, place: Integers, now: float) -> tuple[Integers, Floats, Floats]:
    end = table["end"].fill_null(now).to_numpy()
    return place[table["row"].to_numpy()], table["start"].to_numpy(), end


def _draw(ax: Axes, bars: _Bars) -> None:
    for runs, colour in ((False, _WAITS), (True, _RUNS)):
        of_kind = bars.runs == runs
        low, high = bars.place[of_kind] + 0.05, bars.place[of_kind] + 0.95
        start, end = bars.start[of_kind], bars.end[of_kind]
        corners = np.stack(
            [np.stack([start, end, end, start], axis=1), np.stack([low, low, high, high], axis=1)], axis=2
        )
        ax.add_collection(PolyCollection([*corners], facecolors=colour, edgecolors="none"))
