"""When jobs are submitted: by hour of the day, day of the week, or month of the year."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from batchlab.plot.canvas import begin, choice
from batchlab.plot.histogram import classes
from batchlab.plot.results import Workloads, job_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from batchlab.workload.workload import Workload

__all__ = ["arrivals"]

_CLASSES = {
    "hour": [str(hour) for hour in range(24)],
    "day": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    "month": ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
}
_LABELS = {"hour": "hour of the day", "day": "day of the week", "month": "month"}


def arrivals(
    workloads: Workloads,
    *,
    ax: Axes | None = None,
    per: Literal["hour", "day", "month"] = "hour",
    start_time: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the shares of jobs by the hour, weekday or month of their submission (Figs. 14 and 15 of [1]).

    The clock is the machine's, as the log's header tells it: ``UnixStartTime`` in the zone
    ``TimeZoneString``, else shifted by ``TimeZone``, else in UTC. A workload whose header does not tell is
    taken to have begun when the first one did whose header does; else time 0 is a Thursday's midnight, the
    1st of January 1970.

    Parameters
    ----------
    workloads
        One workload or result, several, or a mapping of labels to them.
    ax
        The axes to draw on; new ones unless given.
    per
        ``"hour"``, ``"day"`` or ``"month"``.
    start_time
        The workloads' origin in seconds since 1970, on the machine's own clock; the header's unless given.
    title
        A title, where one is wanted.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.

    Raises
    ------
    ResultError
        If there is no workload, something else among them, or no such class.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    choice("per", per, _CLASSES)
    tables = [*job_tables(workloads)]
    known = [workload.header.unix_start_time for each in tables for workload in each.workloads]
    usual = next((began for began in known if began is not None), 0)
    counts = {
        each.label: np.sum([_counts(workload, per, start_time, usual) for workload in each.workloads], axis=0)
        for each in tables
    }
    ax = classes(begin(ax, title=title), counts, _CLASSES[per])
    if ax.has_data():
        ax.set_xlabel(_LABELS[per])
    return ax


def _counts(
    workload: Workload, per: Literal["hour", "day", "month"], start_time: float | None, usual: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    clock = _clock(workload, start_time, usual)
    part = {"hour": clock.dt.hour(), "day": clock.dt.weekday() - 1, "month": clock.dt.month() - 1}[per]
    counted = np.bincount(part.to_numpy(), minlength=len(_CLASSES[per]))
    return counted.astype(np.float64)


def _clock(workload: Workload, start_time: float | None, usual: int) -> pl.Series:
    """Give the time of submission of every job on the machine's own clock."""
    header = workload.header
    began = usual if header.unix_start_time is None else header.unix_start_time
    origin = began if start_time is None else start_time
    instants = pl.from_epoch((workload.jobs["submit_time"] + origin).floor().cast(pl.Int64), time_unit="s")
    if start_time is not None:
        return instants
    if header.time_zone_string is not None:
        try:
            return instants.dt.replace_time_zone("UTC").dt.convert_time_zone(header.time_zone_string)
        except pl.exceptions.PolarsError:
            # Old logs name zones that nobody knows any more.
            pass
    return instants.dt.offset_by(f"{header.time_zone or 0}s")
