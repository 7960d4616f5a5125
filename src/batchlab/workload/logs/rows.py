"""Convert records parsed one by one to the table common to all logs."""

from collections.abc import Iterable, Mapping

import polars as pl

from batchlab.workload.logs import chunks
from batchlab.workload.logs.generic_resources import ASKED
from batchlab.workload.logs.jobs import RECORD

__all__ = ["Row", "amount", "instant", "is_in_bounds", "number", "records_of_rows", "whole"]

Row = Mapping[str, object]
"""The columns of one record by name; missing columns are unknown."""

_MORE: Mapping[str, pl.DataType] = {
    "group": pl.String(),
    "account": pl.String(),
    "qos": pl.String(),
    "constraint": pl.String(),
    "reservation": pl.String(),
    "application": pl.String(),
    "origin_site": pl.String(),
    "job_structure": pl.String(),
    "workflow": pl.String(),
    "logged_dependency": pl.String(),
    "requested_nodes": pl.Int64(),
    "requested_gpus": pl.Int64(),
    chunks.CHUNKS: pl.Float64(),
    chunks.MOST_PER_NODE: pl.Float64(),
    chunks.WHOLE: pl.Boolean(),
    chunks.MEMORY: pl.Float64(),
    "allocated_nodes": pl.Int64(),
    "exit_code": pl.Int64(),
    "exit_signal": pl.Int64(),
    "used_walltime": pl.Float64(),
    "used_memory": pl.Float64(),
    "average_cpu_time": pl.Float64(),
    "logged_reason": pl.String(),
    "run_site": pl.String(),
}
# The default value in a log in which other jobs have the column.
_USUAL: Mapping[str, float] = {
    "used_memory": -1.0,
    "average_cpu_time": -1.0,
}
_LARGEST = 2**53


def records_of_rows(rows: Iterable[Row]) -> pl.DataFrame:
    """Convert records to a table.

    Parameters
    ----------
    rows
        The records in the order of lines. The ``memory`` per processor is its share of the memory of the job
        (`chunks.MEMORY`), rounded up.

    Returns
    -------
    polars.DataFrame
        The columns of `batchlab.workload.logs.jobs.RECORD`, and those of requests and outcomes that any
        record has. If only some jobs have a value for used resources, the others get -1.
    """
    known = list(rows)
    schema = {**RECORD, **_MORE}
    table = pl.DataFrame(
        {
            name: pl.Series([row.get(name) for row in known], dtype=dtype, strict=False)
            for name, dtype in schema.items()
        }
    )
    processors = pl.coalesce(pl.when(pl.col(name) >= 1).then(name) for name in ("requested", "allocated"))
    of_one = (pl.col(chunks.MEMORY) / processors).ceil()
    table = table.with_columns(pl.coalesce("memory", of_one).alias("memory"))
    if (table["requested_gpus"] > 0).any():
        table = table.with_columns(pl.col("requested_gpus").cast(pl.Float64).alias(f"{ASKED}gpu"))
    said = [name for name, usual in _USUAL.items() if (table[name].fill_null(usual) != usual).any()]
    table = table.with_columns(pl.col(name).fill_null(_USUAL[name]) for name in said)
    return table.drop(name for name in _USUAL if name not in said)


def number(text: str) -> float | None:
    """Parse a number; None for other texts, and for numbers that are not finite or beyond 2^53.

    Beyond 2^53, floats are further apart than 1. Underscores are invalid in logs, although Python accepts
    them.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if is_in_bounds(value) and "_" not in text else None


def is_in_bounds(value: float) -> bool:
    """Return whether a number is finite and within ±2^53."""
    return -_LARGEST <= value <= _LARGEST


def amount(text: str | None) -> float | None:
    """Parse a number >= 0; None for other texts (as for `number`) and for None."""
    value = None if text is None else number(text)
    return value if value is not None and value >= 0 else None


def instant(text: str) -> float | None:
    """Parse seconds since 1970; None for 0 and for other texts."""
    seconds = number(text)
    return seconds if seconds is not None and seconds > 0 else None


def whole(text: str) -> int | None:
    """Parse a number and return its whole part; None for other texts (as for `number`)."""
    value = number(text)
    return None if value is None else int(value)
