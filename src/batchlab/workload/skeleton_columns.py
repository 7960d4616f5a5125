"""The columns ``app_name`` and ``app_args``: jobs that run built-in skeletons."""

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import ApplicationError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.application import Application

__all__ = ["GIVEN_RUN_TIME", "with_skeletons"]

GIVEN_RUN_TIME = "logged_run_time"
"""The column for the original run times of jobs that run a skeleton instead."""

_NAME, _ARGUMENTS, _APPLICATION = "app_name", "app_args", "application"
_TIME_KEEPER = "time_keeper"


def with_skeletons(
    table: pl.DataFrame, applications: "Mapping[str, Application] | None", source: str
) -> "tuple[pl.DataFrame, Mapping[str, Application] | None]":
    """Create applications for jobs that name a built-in skeleton.

    The application replaces the run time, which moves to the column `GIVEN_RUN_TIME`. A job with a run time
    and a ``time_keeper`` without arguments is unchanged.

    Parameters
    ----------
    table
        The jobs; returned unchanged without the column ``app_name``.
    applications
        Known applications by name.
    source
        Name of the table in error messages.

    Returns
    -------
    tuple
        The table with the column ``application``, and all applications including skeletons.

    Raises
    ------
    WorkloadError
        If a skeleton or an argument is unknown.
    """
    if table.schema.get(_NAME) != pl.String:
        return table, applications
    name = pl.col(_NAME).str.strip_chars()
    arguments = _text(table, _ARGUMENTS)
    tasks = pl.col("tasks") if "tasks" in table.columns else pl.lit(1)
    # As in the checks of the table: whole numbers may be written as floats.
    count = tasks.cast(pl.Float64, strict=False).ceil().cast(pl.Int64, strict=False)
    key = pl.format("{}({}) on {}", name, arguments.fill_null(""), count)
    has_time = pl.col("run_time").is_not_null() if "run_time" in table.columns else pl.lit(value=False)
    keeps_time = has_time & (name == _TIME_KEEPER) & (arguments.fill_null("").str.strip_chars() == "")
    # A table written by batchlab already has the generated names of applications.
    is_free = _text(table, _APPLICATION).eq_missing(key) | _text(table, _APPLICATION).is_null()
    runs = pl.all_horizontal(name.ne(""), ~keeps_time, is_free)
    rows = table.select(
        pl.when(runs).then(key).alias("key"),
        name.alias("name"),
        arguments.alias("arguments"),
        count.alias("tasks"),
    )
    chosen = rows.drop_nulls("key").unique(maintain_order=True)
    if chosen.is_empty():
        return table, applications
    chosen_or_named = pl.coalesce(rows["key"], _text(table, _APPLICATION)).alias(_APPLICATION)
    taken = _without_run_times(table, rows["key"].is_not_null())
    return taken.with_columns(chosen_or_named), {**(applications or {}), **_made(chosen, source)}


def _without_run_times(table: pl.DataFrame, runs: pl.Series) -> pl.DataFrame:
    """Move the run times of jobs with a skeleton to a column of their own."""
    if "run_time" not in table.columns or not (runs & table["run_time"].is_not_null()).any():
        return table
    number = pl.col("run_time").cast(pl.Float64, strict=False)
    before = pl.col(GIVEN_RUN_TIME) if GIVEN_RUN_TIME in table.columns else pl.lit(None)
    given = pl.when(runs).then(number).otherwise(before.cast(pl.Float64, strict=False))
    return table.with_columns(
        pl.when(~runs).then(pl.col("run_time")).alias("run_time"), given.alias(GIVEN_RUN_TIME)
    )


def _text(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String) if name in table.columns else pl.lit(None, pl.String)


def _made(chosen: pl.DataFrame, source: str) -> "dict[str, Application]":
    """Create each distinct skeleton once."""
    # Most workloads have no skeletons.
    from batchlab.skeleton.applications.registry import named_application  # noqa: PLC0415

    made = {}
    for key, name, arguments, tasks in chosen.iter_rows():
        try:
            made[key] = named_application(name, tasks, arguments)
        except (ApplicationError, TypeError, ValueError) as error:
            raise WorkloadError(f"{source}: app_name = {name!r}: {error}") from None
    return made
