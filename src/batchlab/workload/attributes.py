"""What jobs are called and belong to: their owners, queue, partitions and reservation, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.workload.workload import Workload

__all__ = ["Attribute", "attribute"]

Attribute = Literal["user", "group", "account", "qos", "queue", "partition", "reservation"]
"""A column of names."""

_NUMBERED: Mapping[Attribute, str] = {
    "user": "user_id",
    "group": "group_id",
    "queue": "queue_id",
    "partition": "partition_id",
}


def attribute(workload: Workload, name: Attribute) -> pl.Series:
    """Give an attribute of all jobs.

    Parameters
    ----------
    workload
        The jobs: with a column of this name, or else the one of numbers that logs have (``user_id``,
        ``group_id``, ``queue_id``, ``partition_id``). Numbers become the names that the log's header gives
        them (queues and partitions), or digits; those below 0 are unknown.
    name
        The attribute.

    Returns
    -------
    polars.Series
        String, one entry per job; null where it has none.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    jobs = workload.jobs
    if name in jobs.columns:
        return _text(jobs[name], name)
    numbered = _NUMBERED.get(name)
    if numbered is None or numbered not in jobs.columns:
        return pl.Series(name, [None], dtype=pl.String).new_from_index(0, len(jobs))
    return _text(jobs[numbered], numbered, _header_names(workload, name)).alias(name)


def _text(column: pl.Series, source: str, names: Mapping[str, str] | None = None) -> pl.Series:
    """Give a column of names or numbers as text."""
    dtype = column.dtype
    if dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        return text.set(text == "", None)
    if not dtype.is_integer():
        raise WorkloadError(f"column {source!r} is of the kind {dtype}; must hold names, or whole numbers.")
    known = column.set(column < 0, None) if dtype.is_signed_integer() else column
    text = known.cast(pl.String)
    return text.replace(names) if names else text


def _header_names(workload: Workload, name: Attribute) -> dict[str, str]:
    """Give the names that the header of a log gives to the numbers of queues or partitions."""
    entries = {"queue": workload.header.queues, "partition": workload.header.partitions}.get(name, ())
    described = {str(each.number): each.description.strip() for each in entries if each.number is not None}
    return {number: text for number, text in described.items() if text}
