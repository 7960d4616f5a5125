"""The events of a stream that are not in a table of jobs."""

from __future__ import annotations

import polars as pl

from batchlab.vocabulary import EXTERNAL_EVENTS
from batchlab.workload.event_rules import SUBJECT_KEYS
from batchlab.workload.event_stream import EVENT_COLUMNS

__all__ = ["EVENTS", "OF_SCHEDULER", "no_events", "other_events"]

EVENTS = {"time": pl.Float64, "event": pl.String, "job_id": pl.Int64, "subject": pl.String}
"""The columns of events: ``subject`` is what an event is about other than a job, and its value."""

OF_SCHEDULER = ("start", "interrupted")
"""The events whose times are the scheduler's choice; how often they happen is not."""


def no_events() -> pl.DataFrame:
    """Return a table of events without rows."""
    return pl.DataFrame(schema=EVENTS)


def other_events(table: pl.DataFrame) -> pl.DataFrame:
    """Select the events of a stream that are not in a table of jobs.

    Parameters
    ----------
    table
        Of an `EventStream`.

    Returns
    -------
    polars.DataFrame
        By time, the columns of `EVENTS`: external events except submissions, interruptions, and the second
        and later starts of jobs.
    """
    is_again = pl.col("event").eq("start") & (pl.int_range(pl.len()).over("job_id", "event") > 0)
    external = [event for event in EXTERNAL_EVENTS if event != "submit"]
    chosen = pl.col("event").is_in([*external, "interrupted"]) | is_again
    named = [*SUBJECT_KEYS, *(name for name in EVENT_COLUMNS if name not in EVENTS)]
    about = [pl.col(name).cast(pl.String) for name in named if name in table.columns]
    # The nodes of starts and interruptions are the scheduler's choice.
    subject = pl.concat_str(about, separator=" ", ignore_nulls=True)
    subject = pl.when(pl.col("event").is_in(OF_SCHEDULER)).then(pl.lit("")).otherwise(subject)
    own = pl.col("time").cast(pl.Float64), "event", pl.col("job_id").cast(pl.Int64)
    return table.filter(chosen).select(*own, subject.alias("subject"))
