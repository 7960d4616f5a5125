"""Logged events of jobs (S18): ``cancelled_after``, ``run_events``, and the logged start and end."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import stripped, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CANCELLED_AFTER = "cancelled_after"
"""How long a job waited until it was cancelled, seconds; null for a job that started."""


def with_cancellations(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return a table whose jobs that were cancelled before they started have the run time 0.

    Parameters
    ----------
    table
        The jobs; returned unchanged without a column ``cancelled_after``.
    source
        Name of the table in error messages.

    Returns
    -------
    polars.DataFrame
        With ``cancelled_after`` as Float64; NaN becomes null.

    Raises
    ------
    WorkloadError
        If the column does not hold numbers.
    """
    if CANCELLED_AFTER not in table.columns:
        return table
    dtype = table.schema[CANCELLED_AFTER]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise wrong_kind(source, CANCELLED_AFTER, dtype, "be seconds after the submission")
    after = pl.col(CANCELLED_AFTER).cast(pl.Float64).fill_nan(None).alias(CANCELLED_AFTER)
    table = table.with_columns(after)
    was_cancelled = pl.col(CANCELLED_AFTER).is_not_null() & pl.col("run_time").is_null()
    return table.with_columns(pl.when(was_cancelled).then(0).otherwise("run_time").alias("run_time"))


def longest_runs(jobs: pl.DataFrame, run_times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the run times of jobs; a cancelled job may run until its cancellation.

    Parameters
    ----------
    jobs
        The table of a workload.
    run_times
        float64, shape (jobs,): seconds.
    """
    if CANCELLED_AFTER not in jobs.columns:
        return run_times
    after = jobs[CANCELLED_AFTER].fill_null(np.nan).to_numpy()
    return np.where(np.isnan(after), run_times, after)


def cancellation_times(jobs: pl.DataFrame) -> npt.NDArray[np.float64] | None:
    """Return the times of cancellation of jobs that were cancelled before they started.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    numpy.ndarray or None
        float64, shape (jobs,): seconds, infinite for the other jobs; None if no job was cancelled.
    """
    if CANCELLED_AFTER not in jobs.columns or jobs[CANCELLED_AFTER].null_count() == len(jobs):
        return None
    times = jobs["submit_time"] + jobs[CANCELLED_AFTER]
    return times.fill_null(np.inf).to_numpy()


def cancellation_events(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the cancellations of a workload's jobs as external events.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    polars.DataFrame
        ``time`` (s), ``event`` and ``job_id``, by time, then by row.
    """
    if CANCELLED_AFTER not in jobs.columns:
        return pl.DataFrame(schema={"time": pl.Float64, "event": pl.String, "job_id": pl.Int64})
    found = jobs.filter(pl.col(CANCELLED_AFTER).is_not_null()).select(
        (pl.col("submit_time") + pl.col(CANCELLED_AFTER)).alias("time"),
        pl.lit("cancel").alias("event"),
        "job_id",
    )
    return found.sort("time", maintain_order=True)


RUN_EVENTS = "run_events"
"""The events of a running job as text: ``requeue:600,suspend:60:30,cancel``; null for none."""

_REQUEUE, _SUSPEND = "requeue", "suspend"
_ENDS = ("cancel", "kill")
_OF_NODE = "node_"
_SECONDS = r"(\d{1,16}(?:\.\d{1,17})?(?:e[+-]?\d{1,2})?)"
_TERM = re.compile(rf"(?:node_)?requeue:{_SECONDS}|suspend:{_SECONDS}:{_SECONDS}|cancel|(?:node_)?kill")
_BY_NODE = r"(?:^|,)node_(?:requeue:[^,]+|kill)"
_LAST_SUSPENSION = r"suspend:([^:,]+):[^:,]+(?:,cancel|,(?:node_)?kill)?$"
_LARGEST = 2.0**53
RULE = "must be like 'requeue:600,suspend:60:30,cancel', times in seconds"


class Leg(NamedTuple):
    """An event after some seconds of an attempt; ``pause`` is the length of a suspension."""

    event: str
    after: float
    pause: float = 0.0


class RunEvents(NamedTuple):
    """The legs of a job, and the end of its last attempt: ``completed``, ``cancel`` or ``kill``."""

    legs: tuple[Leg, ...]
    end: str


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> RunEvents | None:
    """Parse a text; None if the syntax is invalid, or the times of an attempt are not in order."""
    legs: list[Leg] = []
    end = "completed"
    since = 0.0
    for part in text.split(","):
        match = _TERM.fullmatch(part.strip())
        if match is None or end != "completed":
            return None
        word = match[0].partition(":")[0].removeprefix(_OF_NODE)
        if word in _ENDS:
            end = word
            continue
        after, pause = float(match[1] or match[2]), float(match[3] or 0)
        if not since <= after <= _LARGEST or pause > _LARGEST:
            return None
        legs.append(Leg(word, after, pause))
        since = after if word == _SUSPEND else 0.0
    return RunEvents(tuple(legs), end)


def with_run_events(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the column ``run_events`` of a table of jobs.

    Parameters
    ----------
    table
        The jobs; returned unchanged without this column.
    source
        Name of the table in error messages.

    Returns
    -------
    polars.DataFrame
        With ``run_events`` as String; empty texts become null.

    Raises
    ------
    WorkloadError
        If the column is not text or a text is invalid, or if a job that did not start or that runs an
        application has events.
    """
    if RUN_EVENTS not in table.columns:
        return table
    dtype = table.schema[RUN_EVENTS]
    if dtype not in (pl.String, pl.Null):
        raise wrong_kind(source, RUN_EVENTS, dtype, "be text")
    table = table.with_columns(stripped(RUN_EVENTS))
    for given in table[RUN_EVENTS].drop_nulls().unique(maintain_order=True):
        if parse(given) is None:
            row = int((table[RUN_EVENTS] == given).fill_null(value=False).arg_max() or 0)
            raise WorkloadError(f"{source}: row {row}: {RUN_EVENTS} = {shown(given)}; {RULE}.")
    without_run = pl.col("run_time").is_null()
    if CANCELLED_AFTER in table.columns:
        without_run |= pl.col(CANCELLED_AFTER).is_not_null()
    odd = table.select(without_run & pl.col(RUN_EVENTS).is_not_null()).to_series()
    for row in odd.arg_true().head(1):
        raise WorkloadError(
            f"{source}: row {row}: {RUN_EVENTS} = {shown(table[RUN_EVENTS][row])}; must be missing for a job "
            f"with {CANCELLED_AFTER}, and for a job without run_time, as of an application."
        )
    return table


def last_starts(jobs: pl.DataFrame, logged: Mapping[str, pl.Series]) -> pl.Series:
    """Return the start of each job's last run in its log; after a suspension, the time it was resumed.

    Parameters
    ----------
    jobs
        The table of a workload.
    logged
        ``start_time`` and ``end_time`` of each job, seconds, as from `batchlab.workload.run_events`.
    """
    if RUN_EVENTS not in jobs.columns:
        return logged["start_time"]
    before = pl.col(RUN_EVENTS).str.extract(_LAST_SUSPENSION).cast(pl.Float64)
    resumed = logged["end_time"] - jobs["run_time"] + jobs.select(before).to_series()
    return pl.select(pl.coalesce(resumed, logged["start_time"])).to_series()


def without_node_failures(jobs: pl.DataFrame) -> pl.DataFrame:
    """Remove events of node failures in the log.

    Parameters
    ----------
    jobs
        The table of a workload; returned unchanged without the column ``run_events``.

    Returns
    -------
    polars.DataFrame
        Without ``node_requeue`` and ``node_kill``; attempts that they ended are removed too.
    """
    if RUN_EVENTS not in jobs.columns:
        return jobs
    rest = pl.col(RUN_EVENTS).str.replace_all(_BY_NODE, "").str.strip_chars_start(",").replace("", None)
    kept = jobs.with_columns(rest.alias(RUN_EVENTS))
    return kept if kept[RUN_EVENTS].count() else kept.drop(RUN_EVENTS)


def longest_attempts(jobs: pl.DataFrame, work: Floats, reference_rate: float = 1.0) -> Floats:
    """Return the work of jobs; for requeued jobs, the work of the longest attempt.

    Parameters
    ----------
    jobs
        The table of a workload.
    work
        float64, shape (jobs,): work of each job's last attempt, units of work.
    reference_rate
        Units of work per second.
    """
    if RUN_EVENTS not in jobs.columns:
        return work
    longest = work.copy()
    for row, events in _known(jobs).items():
        attempts = [leg.after * reference_rate for leg in events.legs if leg.event == _REQUEUE]
        longest[row] = max([work[row], *attempts])
    return longest


def run_event_columns(
    jobs: pl.DataFrame, work: Floats, reference_rate: float, execution: Floats | None
) -> Mapping[str, object] | None:
    """Return the events of running jobs, one row per leg.

    Parameters
    ----------
    jobs
        The table of a workload.
    work, reference_rate
        As for `longest_attempts`.
    execution
        float64, shape (jobs,): seconds that overheads add to each attempt; None for none.

    Returns
    -------
    dict or None
        ``job`` (row), ``until`` (units of work of the attempt), ``event`` and ``pause`` (s); None without
        events.
    """
    known = _known(jobs) if RUN_EVENTS in jobs.columns else {}
    if not known:
        return None
    rows = [
        (row, leg.after + (execution[row] if execution is not None and leg.event != _SUSPEND else 0.0), leg)
        for row, events in known.items()
        for leg in _legs_of(events, work[row], reference_rate)
    ]
    return {
        "job": np.array([row for row, _, _ in rows], np.uint32),
        "until": np.array([until for _, until, _ in rows], np.float64),
        "event": [leg.event for _, _, leg in rows],
        "pause": np.array([leg.pause for _, _, leg in rows], np.float64),
    }


def _legs_of(events: RunEvents, work: float, rate: float) -> list[Leg]:
    """Return the legs of a job in units of work, its end last; suspensions are limited to their attempt."""
    legs = [*(leg._replace(after=leg.after * rate) for leg in events.legs), Leg(events.end, work)]
    length = work
    for place in reversed(range(len(legs))):
        leg = legs[place]
        length = min(leg.after, length) if leg.event == _SUSPEND else leg.after
        legs[place] = leg._replace(after=length)
    return legs


def _known(jobs: pl.DataFrame) -> dict[int, RunEvents]:
    texts = jobs[RUN_EVENTS]
    found = {row: parse(texts[row]) for row in texts.is_not_null().arg_true().to_list()}
    return {row: events for row, events in found.items() if events is not None}


_SWF_CANCELLED = 5
_WAIT = "logged_wait_time"


def logged_start(jobs: pl.DataFrame) -> pl.Expr | None:
    """Return the start of each job in its log.

    Parameters
    ----------
    jobs
        The jobs of a workload with ``start_time``, or ``logged_wait_time`` (from SWF).

    Returns
    -------
    polars.Expr or None
        Seconds; null for a job that did not start. None if the log has no starts.
    """
    if "start_time" in jobs.columns:
        return pl.col("start_time").cast(pl.Float64)
    if _WAIT not in jobs.columns or not (jobs[_WAIT] >= 0).any():
        return None
    started = pl.col(_WAIT) >= 0
    if "status" in jobs.columns:
        # A job that was cancelled in the queue has a wait time, but never started.
        started &= (pl.col("status") != _SWF_CANCELLED) | (pl.col("run_time") > 0)
    return pl.when(started).then(pl.col("submit_time") + pl.col(_WAIT)).cast(pl.Float64)


def logged_times(jobs: pl.DataFrame) -> Mapping[str, pl.Series] | None:
    """Return start and end of each job in its log.

    Parameters
    ----------
    jobs
        The jobs of a workload.

    Returns
    -------
    dict or None
        ``start_time`` and ``end_time``, Float64, seconds; null for a job that did not start and end after
        its submission. The end is the column ``end_time``, else the start and ``run_time``. None if the log
        has no starts.
    """
    start = logged_start(jobs)
    if start is None:
        return None
    end = pl.col("end_time").cast(pl.Float64) if "end_time" in jobs.columns else start + pl.col("run_time")
    ran = (start >= pl.col("submit_time")) & (end >= start)
    return jobs.select(start_time=pl.when(ran).then(start), end_time=pl.when(ran).then(end)).to_dict()
