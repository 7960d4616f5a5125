"""What jobs of a log waited for besides nodes: other jobs, and times before which they could not start."""

import polars as pl

from batchlab.workload import dependencies, dependency_column, dependency_text
from batchlab.workload.logs.notes import Notes

__all__ = ["with_begin_times", "with_dependency"]

_UNREADABLE = "dependency cannot be read: left out"
_NOT_THERE = "dependency on jobs that are not there, or whose number others have too: left out"


def with_dependency(table: pl.DataFrame, lines: pl.Series, notes: Notes) -> pl.DataFrame:
    """Add the column ``dependency`` to a table of jobs, of what ``logged_dependency`` says of jobs in it.

    Parameters
    ----------
    table
        Jobs, with their numbers and the columns of tasks of arrays.
    lines
        Theirs in the log.
    notes
        Gets what is left out.
    """
    if "logged_dependency" not in table.columns:
        return table
    given = table["logged_dependency"]
    sound = pl.Series([text is not None and dependency_text.parse(text) is not None for text in given])
    names = dependencies.names_of(table["job_id"], table)
    several = names.filter(names.is_duplicated()).unique()
    once = table.filter(~pl.col("job_id").is_in(several.implode()))
    column = given.alias(dependency_column.DEPENDENCY).set(~sound, None)
    # Each text is looked at in a table of the jobs that can be named.
    known = once.select("job_id", *(name for name in table.columns if name in ("array_id", "array_index")))
    kept = dependency_column.kept_among(column, known)
    for reason, wrong in (
        (_UNREADABLE, ~sound & given.is_not_null()),
        (_NOT_THERE, sound & column.ne_missing(kept)),
    ):
        notes.add("noted", reason, lines.filter(wrong), table["job_id"].filter(wrong))
    return table.with_columns(kept)


def with_begin_times(table: pl.DataFrame) -> pl.DataFrame:
    """Add the column ``begin_time``: when jobs could start, if that was after their submission.

    Jobs that wait for others in the simulation too, and tasks of arrays with a limit, have none. No begin is
    after the start of the log.

    Parameters
    ----------
    table
        Jobs with ``submit_time``, ``eligible_time`` and ``start_time``, seconds since the origin.
    """
    eligible = pl.min_horizontal("eligible_time", pl.coalesce("start_time", "eligible_time"))
    later = (pl.col("eligible_time") > pl.col("submit_time")) & (eligible > pl.col("submit_time"))
    for name in (dependency_column.DEPENDENCY, "array_limit"):
        if name in table.columns:
            later &= pl.col(name).is_null()
    begin = table.select(pl.when(later).then(eligible).alias(dependency_column.BEGIN_TIME)).to_series()
    return table.with_columns(begin) if begin.count() else table
