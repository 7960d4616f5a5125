"""Limits and sizes with which a job would have started earlier: a grid of runs (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.lazy import import_late
from batchlab.core.units import format_duration
from batchlab.result.why.changed import Change, check_repeatable, events_of, plain

if TYPE_CHECKING:
    from batchlab.result.why.wait import Explained, Waits

__all__ = ["Earlier", "earlier"]


@dataclass(frozen=True, eq=False, repr=False)
class Earlier:
    """The requests with which a job would have started earlier. `print` shows the largest ones.

    Parameters
    ----------
    job_id
        The number of the job.
    until
        The time by which it was to start, seconds.
    table
        One row per run: ``requested_time`` (s), ``tasks``, and ``start_time`` (s; null if it had not started
        by then). First the limits with the size of the job, then the sizes with its limit.
    limit
        The largest requested time with which it would have started by then, with its own size; None if none
        of the grid would do.
    tasks
        The largest number of tasks, with its own limit; None if none of the grid would do.
    """

    job_id: int
    until: float
    table: pl.DataFrame
    limit: float | None
    tasks: int | None

    def __repr__(self) -> str:
        return f"<Earlier job {self.job_id} by {self.until:g} s>"

    def __str__(self) -> str:
        found = []
        if self.limit is not None:
            found.append(f"for {format_duration(self.limit)} or less of time")
        if self.tasks is not None:
            found.append(f"for {self.tasks:,} tasks")
        by = format_duration(self.until)
        tried = f"({len(self.table)} requests were tried)"
        if not found:
            return f"No smaller request of job {self.job_id} would have let it start by {by} {tried}."
        asked = " or ".join(found).replace(" or less of time", "")
        return f"Job {self.job_id} would have started by {by} if it had asked {asked} {tried}."


def earlier(run: Waits, row: int, until: float, steps: int) -> Earlier:
    """Try limits from the run time to the requested time, and sizes from one task to those asked for."""
    check_repeatable(run)
    jobs = run.result.workload.jobs
    asked, tasks = float(jobs["requested_time"][row]), int(jobs["tasks"][row])
    limits = [] if jobs["run_time"][row] is None else _limits(float(jobs["run_time"][row]), asked, steps)
    sizes = sorted({round(tasks * step / (steps + 1)) for step in range(1, steps + 1)} - {0, tasks})

    def start(name: str, value: float) -> float | None:
        return _start(run.result, Change(row, {name: value}), until)

    by_limit = [(limit, tasks, start("requested_time", limit)) for limit in limits]
    by_size = [(asked, size, start("tasks", size)) for size in sizes]
    table = pl.DataFrame(
        [*by_limit, *by_size],
        schema={"requested_time": pl.Float64, "tasks": pl.Int64, "start_time": pl.Float64},
        orient="row",
    )
    return Earlier(
        int(run.job_ids[row]),
        until,
        table,
        max((limit for limit, _, start in by_limit if start is not None), default=None),
        max((size for _, size, start in by_size if start is not None), default=None),
    )


def _limits(run_time: float, asked: float, steps: int) -> list[float]:
    """Return limits from the run time on, below the one asked for, in whole seconds where they were whole."""
    if not run_time < asked < np.inf:
        return []
    between = np.linspace(run_time, asked, steps + 1)[:-1]
    return sorted({float(np.ceil(each)) if asked.is_integer() else float(each) for each in between} - {asked})


def _start(result: Explained, change: Change, until: float) -> float | None:
    """Return when the changed job starts; None if it has not started by a time."""
    simulation = import_late("batchlab.simulation", "Simulation")(
        change.applied(result.workload),
        result.system,
        result.policy,
        events=events_of(result, change),
        options=plain(result.options),
    )
    simulation.run_until(until)
    starts = simulation.result().outcome.start_time
    return None if np.isnan(starts[change.row]) else float(starts[change.row])
