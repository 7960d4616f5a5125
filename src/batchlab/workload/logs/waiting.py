"""Conditions for the start of logged jobs: dependencies and begin times."""

import polars as pl

from batchlab.workload import dependencies
from batchlab.workload.logs.notes import Notes

__all__ = ["with_begin_times", "with_dependency"]

_UNREADABLE = "dependency cannot be read: left out"
_NOT_THERE = "dependency on jobs that are not there, or whose number others have too: left out"


def with_dependency(table: pl.DataFrame, lines: pl.Series, notes: Notes) -> pl.DataFrame:
    """Add the column ``dependency``: the part of ``logged_dependency`` that concerns jobs in the table.

    Parameters
    ----------
    table
        Jobs with their numbers and the columns of array tasks.
    lines
        Their line numbers in the log.
    notes
        Collects remarks on dropped dependencies.
    """
    if "logged_dependency" not in table.columns:
        return table
    given = table["logged_dependency"]
    sound = pl.Series(
        [text is not None and dependencies.parse_dependency(text) is not None for text in given]
    )
    names = dependencies.nameable_numbers(table["job_id"], table)
    several = names.filter(names.is_duplicated()).unique()
    once = table.filter(~pl.col("job_id").is_in(several.implode()))
    column = given.alias(dependencies.DEPENDENCY).set(~sound, None)
    # Resolve each text in a table of the jobs with unique numbers.
    known = once.select("job_id", *(name for name in table.columns if name in ("array_id", "array_index")))
    kept = dependencies.kept_among(column, known)
    for reason, wrong in (
        (_UNREADABLE, ~sound & given.is_not_null()),
        (_NOT_THERE, sound & column.ne_missing(kept)),
    ):
        notes.add("noted", reason, lines.filter(wrong), table["job_id"].filter(wrong))
    return table.with_columns(kept)


def with_begin_times(table: pl.DataFrame) -> pl.DataFrame:
    """Add the column ``begin_time``: the eligible time of jobs, if it is after their submission.

    Jobs with dependencies in the simulation, and tasks of arrays with a limit, have none. A begin time is
    never after the logged start.

    Parameters
    ----------
    table
        Jobs with ``submit_time``, ``eligible_time`` and ``start_time``, seconds since the origin.
    """
    eligible = pl.min_horizontal("eligible_time", pl.coalesce("start_time", "eligible_time"))
    later = (pl.col("eligible_time") > pl.col("submit_time")) & (eligible > pl.col("submit_time"))
    for name in (dependencies.DEPENDENCY, "array_limit"):
        if name in table.columns:
            later &= pl.col(name).is_null()
    begin = table.select(pl.when(later).then(eligible).alias(dependencies.BEGIN_TIME)).to_series()
    return table.with_columns(begin) if begin.count() else table
