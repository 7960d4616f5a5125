"""Plot of the durations of simulations by the number of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.plot.canvas import annotate, begin, colour, dress, legend, line_style, plot
from batchlab.plot.estimate import estimate
from batchlab.plot.results import Group, Results, by_policy
from batchlab.plot.scales import log_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scalability"]


@plot
def scalability(results: Results, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the duration of simulations against their numbers of jobs, a line per policy.

    Results of one policy are one line, for any jobs; those of equal numbers of jobs are one point, their
    mean, with the 95 % confidence interval.

    Parameters
    ----------
    results
        Many results, or a mapping of labels to many.

    Raises
    ------
    ResultError
        If there is no result.
    """
    found = by_policy(results)
    ax = begin(ax, title=title)
    for index, group in enumerate(found):
        _draw(ax, group, index)
    if not ax.lines:
        return annotate(ax, "how long runs took was not measured")
    ax.set_xlabel("jobs")
    ax.set_ylabel("time of the simulation")
    log_axis(ax, "x")
    log_axis(ax, "y", durations=True)
    legend(ax, len(found))
    return dress(ax, grid="both")


def _draw(ax: Axes, group: Group, index: int) -> None:
    times: dict[int, list[float]] = {}
    for result in group.results:
        # Zero jobs, or zero time, cannot be shown on these axes.
        if result.elapsed and len(result.workload):
            times.setdefault(len(result.workload), []).append(result.elapsed)
    points = [(jobs, estimate(measured)) for jobs, measured in sorted(times.items())]
    known = [(jobs, value) for jobs, value in points if value is not None]
    if known:
        ax.errorbar(
            [jobs for jobs, _ in known],
            [value.mean for _, value in known],
            # An interval is cut at a tenth of the mean, below which it would leave the axes.
            yerr=[
                [min(value.half_width or 0.0, 0.9 * value.mean) for _, value in known],
                [value.half_width or 0.0 for _, value in known],
            ],
            marker="o",
            markersize=4,
            capsize=2,
            color=colour(index),
            linestyle=line_style(index),
            linewidth=1.2,
            label=group.label,
        )
