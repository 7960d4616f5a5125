"""What must hold of each job at the end of a random run of everything at once, whatever happened in it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from support.everything_events import longest_limit

if TYPE_CHECKING:
    import batchlab as bl

__all__ = ["check_end", "check_events", "check_job"]

_WAITS = ("submit", "interrupted")
_PRECEDED_BY: dict[str, tuple[str | None, ...]] = {
    "submit": (None,),
    "start": _WAITS,
    "interrupted": ("start",),
    "completed": ("start",),
    "killed": ("start", *_WAITS),
    "rejected": ("submit",),
}


def check_job(job: dict[str, Any], of_id: dict[int, dict[str, Any]]) -> None:
    """Fail where a job started before it could."""
    start, end = job["start_time"], job["end_time"]
    if start is None:
        return
    assert start >= max(job["submit_time"], job.get("begin_time") or 0.0)
    assert end is None or end >= start
    for other in job.get("depends_on") or ():
        assert of_id[other]["state"] == "completed"
        assert of_id[other]["end_time"] <= start


def check_end(result: bl.Result, job: dict[str, Any], described: dict[str, Any], *, whole: bool) -> None:
    """Fail where a job that started ended at a wrong time; `whole` where it ran once."""
    start, end, options = job["start_time"], job["end_time"], result.options
    launch, completion = job.get("launch_time") or 0.0, job.get("completion_time") or 0.0
    if options.walltime == "kill":
        asked = described.get("time_limit", described["requested_time"])
        limit = longest_limit(result, job["job_id"], inf if asked is None else asked)
        is_counted = (
            options.job_overheads is not None and options.job_overheads.counted and options.sleep is None
        )
        # No limit counts the time to resume, a number of seconds here.
        overheads: Any = options.overheads
        resume = overheads.resume.base if overheads is not None and job.get("restarts") else 0.0
        assert end <= start + limit + (resume if is_counted and limit == asked else launch + completion)
    if job["state"] == "completed" and whole and job.get("application") is None:
        least = start + launch + job["run_time"]
        if options.control is not None:
            assert end >= start + launch
        elif options.overheads is None and result.external_events is None:
            assert end == pytest.approx(least, rel=1e-12)
        elif result.external_events is None:
            # What would cut its run short cuts its completion.
            assert least <= end <= least + completion + 1.0


def check_events(result: bl.Result) -> None:
    """Fail where the stream of a run, over or not, tells of its jobs otherwise than its table does."""
    columns = ["job_id", "state", "submit_time", "start_time", "end_time"]
    told = result.events
    assert told.table["time"].is_sorted()
    known = result.jobs.filter(pl.col("state").cast(pl.String) != "loaded")
    of_stream = told.jobs.select(columns)
    of_table = known.with_columns(pl.col("state").cast(pl.String)).select(columns)
    assert of_stream.sort("job_id").equals(of_table.sort("job_id")), (of_stream, of_table)
    check_order(told.table)


def check_order(events: pl.DataFrame) -> None:
    """Fail where a job starts before it is submitted, ends before it starts, or runs twice at a time."""
    before: dict[int, str] = {}
    for job, event in events.select("job_id", "event").iter_rows():
        if event in _PRECEDED_BY:
            assert before.get(job) in _PRECEDED_BY[event], (job, event, before.get(job))
            before[job] = event
