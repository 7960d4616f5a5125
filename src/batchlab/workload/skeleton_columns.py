"""The columns ``app_name`` and ``app_args``: built-in skeletons that jobs without a run time run."""

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import ApplicationError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.application import Application

__all__ = ["with_skeletons"]

_NAME, _ARGUMENTS, _APPLICATION = "app_name", "app_args", "application"


def with_skeletons(
    table: pl.DataFrame, applications: "Mapping[str, Application] | None", source: str
) -> "tuple[pl.DataFrame, Mapping[str, Application] | None]":
    """Give jobs that name a built-in skeleton, and have no run time, an application.

    Parameters
    ----------
    table
        Jobs as they come; left alone where it has no column ``app_name``.
    applications
        Those that are known by name.
    source
        What errors call the table.

    Returns
    -------
    tuple
        The table with the column ``application``, and the applications with the skeletons.

    Raises
    ------
    WorkloadError
        If a skeleton or an argument is not known.
    """
    if table.schema.get(_NAME) != pl.String:
        return table, applications
    name = pl.col(_NAME).str.strip_chars()
    arguments = _text(table, _ARGUMENTS)
    tasks = pl.col("tasks") if "tasks" in table.columns else pl.lit(1)
    # As the table is checked: files may have whole numbers with a point.
    count = tasks.cast(pl.Float64, strict=False).ceil().cast(pl.Int64, strict=False)
    key = pl.format("{}({}) on {}", name, arguments.fill_null(""), count)
    no_time = pl.col("run_time").is_null() if "run_time" in table.columns else pl.lit(value=True)
    # A table that was written has the names of the applications that the columns made.
    is_free = _text(table, _APPLICATION).eq_missing(key) | _text(table, _APPLICATION).is_null()
    runs = pl.all_horizontal(name.ne(""), no_time, is_free)
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
    return table.with_columns(chosen_or_named), {**(applications or {}), **_made(chosen, source)}


def _text(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String) if name in table.columns else pl.lit(None, pl.String)


def _made(chosen: pl.DataFrame, source: str) -> "dict[str, Application]":
    """Make each skeleton once."""
    # Most workloads name none.
    from batchlab.skeleton.applications.registry import named_application  # noqa: PLC0415

    made = {}
    for key, name, arguments, tasks in chosen.iter_rows():
        try:
            made[key] = named_application(name, tasks, arguments)
        except (ApplicationError, TypeError, ValueError) as error:
            raise WorkloadError(f"{source}: app_name = {name!r}: {error}") from None
    return made
