"""Forecasts of starts: the intervals of waiting jobs, and reliability diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from batchlab.plot.canvas import annotate, begin, colour, dress, legend, plot, rows_size, tint
from batchlab.plot.scales import duration_axis

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["forecast", "reliability"]

_MOST_JOBS = 40


class ForecastTable(Protocol):
    """A `batchlab.forecast.Forecast`, as far as it is drawn."""

    @property
    def now(self) -> float:
        """The time of the forecast, seconds."""

    @property
    def quantiles(self) -> tuple[float, ...]:
        """The levels."""

    @property
    def jobs(self) -> pl.DataFrame:
        """One row per waiting job."""


class Reliability(Protocol):
    """A `batchlab.forecast.Evaluation`, as far as it is drawn."""

    @property
    def reliability(self) -> pl.DataFrame:
        """Columns ``method``, ``level``, ``share``."""


@plot
def forecast(answer: ForecastTable, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the interval, the middle quantile, and the plan by limits of each waiting job, from now on.

    Parameters
    ----------
    answer
        The forecast, from `Simulation.forecast`. The first 40 waiting jobs are drawn.
    """
    jobs = answer.jobs.head(_MOST_JOBS)
    ax = begin(ax, title=title, size=rows_size(jobs.height))
    if not jobs.height:
        return annotate(ax, "no job waits")
    levels = [jobs[f"start_{level:g}"].to_numpy() - answer.now for level in answer.quantiles]
    plan = jobs["plan"].to_numpy() - answer.now
    finite = [values[np.isfinite(values)] for values in (*levels, plan)]
    end = max((float(values.max(initial=0)) for values in finite), default=0.0)
    low, middle, high = (np.minimum(levels[at], end) for at in (0, len(levels) // 2, -1))
    rows = np.arange(jobs.height)
    hue, percent = colour(0), [f"{100 * level:g}" for level in answer.quantiles]
    name, interval = f"{percent[len(levels) // 2]} %", f"{percent[0]} to {percent[-1]} %"
    ax.barh(rows, high - low, left=low, height=0.6, color=tint(hue, 0.35), label=interval)
    ax.plot(middle, rows, "o", color=hue, markersize=4, label=name)
    ax.plot(np.minimum(plan, end), rows, "|", color=colour(1), markersize=8, label="plan by limits")
    ax.set_yticks(rows, [str(job) for job in jobs["job_id"].to_list()])
    ax.invert_yaxis()
    ax.set_ylabel("job")
    duration_axis(ax, "x")
    ax.set_xlabel("time until the start")
    ax.set_xlim(left=0)
    legend(ax, 3)
    return dress(ax, grid="x")


@plot
def reliability(evaluation: Reliability, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the share of jobs that started at or before each quantile, by the level of the quantile.

    A calibrated forecast is on the diagonal.

    Parameters
    ----------
    evaluation
        From `batchlab.forecast.evaluate`.
    """
    table = evaluation.reliability
    curves = {name: rows.drop("method") for (name,), rows in table.group_by("method", maintain_order=True)}
    own, *others = curves
    # The chosen forecast is also the raw or the adjusted one.
    names = [own, *(name for name in others if not curves[name].equals(curves[own]))]
    ax = begin(ax, title=title, size=(4.8, 3.6))
    ax.plot([0, 1], [0, 1], "--", color="#8c959f", linewidth=0.8, label="_diagonal")
    for number, name in enumerate(names):
        points = curves[name]["level"].to_numpy(), curves[name]["share"].to_numpy()
        width, front = (2.2, 3) if name == own else (1.0, 2)
        ax.plot(*points, "o-", color=colour(number), markersize=3, linewidth=width, zorder=front, label=name)
    ax.set_xlabel("level of the quantile")
    ax.set_ylabel("share of starts at or before it")
    ax.set_xlim(0, 1)
    # A line at 1 is visible.
    ax.set_ylim(0, 1.02)
    legend(ax, len(names))
    return dress(ax, grid="both")
