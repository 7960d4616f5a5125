"""Events of running jobs: the column ``run_events`` (semantics, S18)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.cancellation import CANCELLED_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = [
    "RUN_EVENTS",
    "last_starts",
    "longest_attempts",
    "run_event_columns",
    "with_run_events",
    "without_node_failures",
]

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
        raise WorkloadError(f"{source}: column {RUN_EVENTS!r} is of the kind {dtype}; must be text.")
    text = pl.col(RUN_EVENTS).cast(pl.String).str.strip_chars().replace("", None)
    table = table.with_columns(text.alias(RUN_EVENTS))
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
        ``start_time`` and ``end_time`` of each job, seconds, as from `batchlab.workload.logged`.
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
