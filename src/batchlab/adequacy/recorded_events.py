"""Events of a stream that a table of jobs does not contain."""

from __future__ import annotations

import polars as pl

from batchlab.core.vocabulary import EXTERNAL_EVENTS
from batchlab.workload.event_rules import SUBJECT_KEYS
from batchlab.workload.event_stream import EVENT_COLUMNS

__all__ = ["EVENTS", "OF_SCHEDULER", "no_events", "other_events"]

EVENTS = {"time": pl.Float64, "event": pl.String, "job_id": pl.Int64, "subject": pl.String}
"""Columns of events; ``subject`` is the object of an event other than a job, with its value."""

OF_SCHEDULER = ("start", "interrupted")
"""Events whose times are decisions of the scheduler; their numbers are not."""


def no_events() -> pl.DataFrame:
    """Return a table of events without rows."""
    return pl.DataFrame(schema=EVENTS)


def other_events(table: pl.DataFrame) -> pl.DataFrame:
    """Select the events of a stream that a table of jobs does not contain.

    Parameters
    ----------
    table
        The table of an `EventStream`.

    Returns
    -------
    polars.DataFrame
        Sorted by time, with the columns of `EVENTS`: external events except submissions, interruptions, and
        all starts of a job except the first.
    """
    is_again = pl.col("event").eq("start") & (pl.int_range(pl.len()).over("job_id", "event") > 0)
    external = [event for event in EXTERNAL_EVENTS if event != "submit"]
    chosen = pl.col("event").is_in([*external, "interrupted"]) | is_again
    named = [*SUBJECT_KEYS, *(name for name in EVENT_COLUMNS if name not in EVENTS)]
    about = [pl.col(name).cast(pl.String) for name in named if name in table.columns]
    # The nodes of starts and interruptions are decisions of the scheduler.
    subject = pl.concat_str(about, separator=" ", ignore_nulls=True)
    subject = pl.when(pl.col("event").is_in(OF_SCHEDULER)).then(pl.lit("")).otherwise(subject)
    own = pl.col("time").cast(pl.Float64), "event", pl.col("job_id").cast(pl.Int64)
    return table.filter(chosen).select(*own, subject.alias("subject"))
