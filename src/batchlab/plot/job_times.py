"""When each job waited, and when it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from batchlab.plot.canvas import INK, PALETTE, begin, dress, pale, say
from batchlab.plot.placement import Placements, cells
from batchlab.plot.results import Results, jobs_of, single
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["job_times"]

# Thinner bars would not be drawn evenly.
_MOST_BARS = 150
_COLUMNS, _ROWS = 1200, 600
_WAITS, _RUNS = pale(PALETTE[1], 0.45), PALETTE[0]


def job_times(
    results: Results,
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a bar for each job, from its submission over its start to its end (Fig. 6 of [1]).

    Jobs are in the order of submission. Of very many, each row of the picture stands for several, and
    shows which share of them waited and ran.

    Parameters
    ----------
    results
        One result; of replications the first is drawn.
    ax
        The axes to draw on; new ones unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

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
    bars, ids = _bars_of(result)
    ax = begin(ax, title=title, size=(6.4, 4.0))
    if not len(ids):
        return say(ax, "no job was submitted")
    first, last = float(bars.start.min()), float(bars.end.max())
    last = last if last > first else first + 1.0
    (_draw if len(ids) <= _MOST_BARS else _picture)(ax, bars, len(ids), (first, last))
    ax.set(xlim=(first, last), ylim=(0, len(ids)), xlabel="simulated time", ylabel="job")
    duration_axis(ax, "x")
    numbers = [
        int(tick)
        for tick in MaxNLocator(8, steps=[1, 2, 5, 10], integer=True).tick_values(1, len(ids))
        if 1 <= tick <= len(ids)
    ]
    ax.set_yticks([number - 0.5 for number in numbers], [str(ids[number - 1]) for number in numbers])
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


@dataclass(frozen=True)
class _Bars:
    """Parts of the lives of jobs: the job's place, whether it runs, and from when to when."""

    place: Integers
    runs: npt.NDArray[np.bool_]
    start: Floats
    end: Floats

    def only(self, *, runs: bool, jobs: int) -> Placements:
        """Give those that run, or all from submission to end, as if jobs were nodes."""
        kept = self.runs == runs
        place, share = self.place[kept], np.ones(int(kept.sum()))
        return Placements(place, place, self.start[kept], self.end[kept], share, jobs, 1)


def _bars_of(result: Result) -> tuple[_Bars, list[int]]:
    """Give each job a bar from its submission to its end, and one over that for each run; and the ids."""
    jobs = jobs_of(result).with_row_index("row")
    present = jobs.filter(~jobs["state"].is_in(["loaded", "rejected"])).sort("submit_time", "row")
    place = np.full(jobs.height, -1)
    place[present["row"].to_numpy()] = np.arange(present.height)
    lives = present.select("row", start="submit_time", end="end_time")
    ran = present.filter(present["start_time"].is_not_null()).select(
        "row", start="start_time", end="end_time"
    )
    cut = result.interruptions.select("row", start="start_time", end="end_time")
    parts = [_columns(table, place, result.outcome.now) for table in (lives, ran, cut)]
    runs = np.repeat([False, True, True], [len(each[0]) for each in parts])
    where, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Bars(where, runs, start, end), present["job_id"].to_list()


def _columns(table: pl.DataFrame, place: Integers, now: float) -> tuple[Integers, Floats, Floats]:
    end = table["end"].fill_null(now).to_numpy()
    return place[table["row"].to_numpy()], table["start"].to_numpy(), end


def _draw(ax: Axes, bars: _Bars, jobs: int, _span: tuple[float, float]) -> None:
    for runs, colour in ((False, _WAITS), (True, _RUNS)):
        shown = bars.only(runs=runs, jobs=jobs)
        low, high = shown.node + 0.05, shown.node + 0.95
        corners = np.stack(
            [
                np.stack([shown.start, shown.end, shown.end, shown.start], axis=1),
                np.stack([low, low, high, high], axis=1),
            ],
            axis=2,
        )
        ax.add_collection(PolyCollection([*corners], facecolors=colour, edgecolors="none"))


def _picture(ax: Axes, bars: _Bars, jobs: int, span: tuple[float, float]) -> None:
    present, running = (
        cells(bars.only(runs=runs, jobs=jobs), *span, columns=_COLUMNS, rows=_ROWS) for runs in (False, True)
    )
    waiting = np.clip(present.busy - running.busy, 0, 1)[..., None]
    ink = waiting * (1 - np.array(_WAITS)) + np.clip(running.busy, 0, 1)[..., None] * (
        1 - np.array(to_rgb(_RUNS))
    )
    extent = (*span, 0.0, float(present.busy.shape[0] * present.nodes_per_row))
    image = np.clip(1 - ink, 0, 1)
    ax.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="nearest", rasterized=True)
