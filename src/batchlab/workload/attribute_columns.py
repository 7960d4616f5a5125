"""The attribute columns of jobs (user, group, account, queue, …) as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Attribute", "attribute_in", "columns_of"]

Attribute = Literal["user", "group", "account", "qos", "queue", "partition", "reservation"]
"""A column of names."""

_NUMBERED: Mapping[Attribute, str] = {
    "user": "user_id",
    "group": "group_id",
    "queue": "queue_id",
    "partition": "partition_id",
}


def attribute_in(jobs: pl.DataFrame, name: Attribute, names: Mapping[str, str] | None = None) -> pl.Series:
    """Return an attribute of the jobs of a table, before it becomes a workload.

    Parameters
    ----------
    jobs
        The table.
    name
        The attribute.
    names
        The names of the numbers, from the header of a log.

    Returns
    -------
    polars.Series
        String, one entry per job; null if the column is missing, the text is empty, or the number is below 0.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    source = next((column for column in columns_of(name) if column in jobs.columns), None)
    if source is None:
        return pl.Series(name, [None], dtype=pl.String).new_from_index(0, len(jobs))
    return _text(jobs[source], source, names if source != name else None).alias(name)


def columns_of(name: Attribute) -> tuple[str, ...]:
    """Return the columns that can hold an attribute, in order of preference."""
    return (name, _NUMBERED[name]) if name in _NUMBERED else (name,)


def _text(column: pl.Series, source: str, names: Mapping[str, str] | None = None) -> pl.Series:
    """Return a column of names or numbers as text."""
    dtype = column.dtype
    if dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        return text.set(text == "", None)
    if not dtype.is_integer():
        raise WorkloadError(f"column {source!r} is of the kind {dtype}; must hold names, or whole numbers.")
    known = column.set(column < 0, None) if dtype.is_signed_integer() else column
    text = known.cast(pl.String)
    return text.replace(names) if names else text
